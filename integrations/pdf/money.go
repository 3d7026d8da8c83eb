package pdf

import (
	"math"
	"strings"
	"unicode"

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"siteapi/integrations/pdf/font"
	"siteapi/integrations/quote"
)

// nbsp keeps an amount and its currency on one line.
const nbsp = "\u00a0"

// money writes amounts the way one language does.
type money struct {
	tag       language.Tag
	codeFirst bool
}

// span writes the range of an estimate, as "€12,000 – €18,000" in en and
// "12.000 – 18.000 €" in es; a range of one amount as that amount. Cents are shown
// only where one of the two has some.
func (m money) span(e quote.Estimate, family *font.Family) string {
	// A printer keeps state while it prints, so each call makes its own.
	printer := message.NewPrinter(m.tag)
	unit, err := currency.ParseISO(e.Currency)
	sign, digits := clean(e.Currency, family), 2
	if err == nil {
		sign = unit.String()
		digits, _ = currency.Standard.Rounding(unit)
		// A sign that the typeface lacks is written as the code.
		if s := printer.Sprint(currency.Symbol(unit)); s != "" && clean(s, family) == s && !strings.ContainsRune(s, font.Missing) {
			sign = s
		}
	}
	if whole(e.Min) && whole(e.Max) {
		digits = 0
	}
	amount := func(value float64) string {
		return printer.Sprint(number.Decimal(value, number.Scale(digits)))
	}
	low, high := amount(e.Min), amount(e.Max)
	if !m.codeFirst {
		if low != high {
			low += " – " + high
		}
		return low + nbsp + sign
	}
	if isCode(sign) {
		sign += nbsp
	}
	if low == high {
		return sign + low
	}
	return sign + low + " – " + sign + high
}

func whole(value float64) bool { return value == math.Trunc(value) }

// isCode reports whether a currency sign ends in a letter, which wants a space.
func isCode(sign string) bool {
	runes := []rune(sign)
	return len(runes) > 0 && unicode.IsLetter(runes[len(runes)-1])
}
