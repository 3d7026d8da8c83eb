package price

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"siteapi/schema"
)

// maxUnits is the maximum of an estimate, in units of its currency.
const maxUnits = 1_000_000_000

// exponent returns the number of decimals of a currency by ISO 4217, or false for metals,
// funds and test codes, which have no minor unit.
func exponent(currency string) (int, bool) {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV",
		"XAF", "XOF", "XPF":
		return 0, true
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3, true
	case "CLF", "UYW":
		return 4, true
	case "XAG", "XAU", "XBA", "XBB", "XBC", "XBD", "XDR", "XPD", "XPT", "XSU", "XTS", "XUA", "XXX":
		return 0, false
	}
	return 2, true
}

// scale is the number of minor units in a unit of a currency.
func scale(currency string) int64 {
	places, _ := exponent(currency)
	return int64(math.Pow10(places))
}

// Payable reports whether an amount can be paid in a currency: the currency is money, not
// a metal, fund or test code, and the amount has no more decimals than the currency.
func Payable(amount float64, currency string) bool {
	places, money := exponent(currency)
	if !money {
		return false
	}
	_, whole := decimal(amount, places)
	return whole
}

// Round rounds an amount half up to the minor unit of a currency, if it has one. It reads
// the decimal digits of the number, so that 1.005 is exactly a half.
func Round(amount float64, currency string) float64 {
	places, money := exponent(currency)
	digits, ok := new(big.Rat).SetString(strconv.FormatFloat(amount, 'f', -1, 64))
	if !money || !ok {
		return amount
	}
	rounded, _ := strconv.ParseFloat(digits.FloatString(places), 64) // cannot fail
	return rounded
}

// Sums lists sums of amounts by currency, in alphabetical order.
func Sums(byCurrency map[string]float64) []*schema.FunnelSum {
	sums := []*schema.FunnelSum{}
	for _, currency := range slices.Sorted(maps.Keys(byCurrency)) {
		sums = append(sums, &schema.FunnelSum{
			Currency: currency,
			Amount:   Round(byCurrency[currency], currency), // removes rounding errors of the sum
		})
	}
	return sums
}

// decimal converts a number to an integer in units of 10^-decimals, or returns false if
// it has more decimals. It reads the decimal digits of the number, so that 0.1 is exactly
// a tenth.
func decimal(number float64, decimals int) (int64, bool) {
	digits, fraction, _ := strings.Cut(strconv.FormatFloat(number, 'f', -1, 64), ".")
	if len(fraction) > decimals {
		return 0, false
	}
	n, err := strconv.ParseInt(digits+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	return n, err == nil
}
