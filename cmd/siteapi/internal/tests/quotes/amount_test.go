package quotes

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

// Amounts are stored in whole minor units of their currency, as people and the CRM write
// them, whatever the arithmetic of the client's programming language left behind.
func TestAmountsAreRounded(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent("", 12000))

	for i, tt := range []struct {
		why, min, max, currency, want string
	}{
		{"4.35 * 100 in binary", "434.99999999999994", "435.00000000000006", "EUR", "435 435 EUR"},
		{"0.1 + 0.2", "0.30000000000000004", "1", "EUR", "0.3 1 EUR"},
		{"1.1 * 3 with an exponent", "3.3000000000000003e0", "33.00000000000001e2", "USD", "3.3 3300 USD"},
		{"a half is rounded up, as in the service's prices", "1.005", "2.675", "EUR", "1.01 2.68 EUR"},
		{"a third", "333.3333333333333", "666.6666666666667", "RON", "333.33 666.67 RON"},
		{"two decimals stay", "15100.1", "20400.55", "EUR", "15100.1 20400.55 EUR"},
		{"yen have no minor unit", "1234.5", "2000.4", "JPY", "1235 2000 JPY"},
		{"Kuwaiti dinars have three decimals", "1.23456", "9.9996", "KWD", "1.235 10 KWD"},
		{"Chilean units of account have four", "1.23456", "1.23457", "CLF", "1.2346 1.2346 CLF"},
		{"gold has no minor unit by ISO 4217", "1.2345678", "2", "XAU", "1.2345678 2 XAU"},
		{"nothing is rounded beyond the maximum", "999999999.994", "999999999.999", "EUR", "999999999.99 1000000000 EUR"},
		{"less than a cent", "0.001", "0.004", "EUR", "0 0 EUR"},
		{"a negative zero", "-0.0", "1e-320", "EUR", "0 0 EUR"},
	} {
		for _, endpoint := range apptest.Endpoints {
			estimate := object{"min": json.Number(tt.min), "max": json.Number(tt.max), "currency": tt.currency}
			input := apptest.ValidLead(fmt.Sprintf("amount-%d-%s", i, endpoint))
			input["estimate"] = estimate
			got := s.TrackThrough(endpoint, object{"sessionId": input["sessionId"], "estimate": estimate})
			if got.Data["success"] != true {
				t.Errorf("%s: %s", tt.why, got)
			}

			id := s.MustSubmit(endpoint, input)
			e := s.ShowLead(id).Estimate
			if stored := decimal(e.Min) + " " + decimal(e.Max) + " " + e.Currency; stored != tt.want {
				t.Errorf("%s: stored as %s, want %s", tt.why, stored, tt.want)
			}
		}
	}
}

func decimal(amount float64) string { return strconv.FormatFloat(amount, 'f', -1, 64) }
