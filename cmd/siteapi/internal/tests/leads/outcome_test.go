package leads

import (
	"fmt"
	"strings"
	"testing"

	"siteapi/integrations/lead"
)

// Operators set the outcome of a lead through GraphQL and with a command. The audit does
// not contain the amount.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)
	id, inReview := s.Submit("one"), submitSpam(s, "bot")
	s.Arrives(id)

	for _, tt := range []struct{ id, arguments, want string }{
		{id, `, outcome: QUALIFIED`, "QUALIFIED"},
		{id, `, outcome: WON, amount: 1200.5, currency: " EUR "`, "WON 1200.5 EUR"},
		{lead.Reference(id), `, outcome: LOST`, "LOST"},
		{id, `, outcome: null`, ""},
		{id, `, outcome: WON, amount: 0, currency: "JPY"`, "WON 0 JPY"},
		{id, `, outcome: WON, amount: 1.5, currency: "JPY"`, "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1, currency: "XXX"`, "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1`, "BAD_USER_INPUT"},
		{id, `, outcome: WON, currency: "EUR"`, "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1000000001, currency: "EUR"`, "BAD_USER_INPUT"},
		{id, `, outcome: LOST, amount: 1, currency: "EUR"`, "BAD_USER_INPUT"},
		{"nosuch12", `, outcome: LOST`, "NOT_FOUND"},
		{inReview, `, outcome: LOST`, "BAD_USER_INPUT"},
	} {
		data, got := b.Asks(`mutation { changed: setLeadOutcome(id: "` + tt.id + `"` + tt.arguments +
			`) { outcome { value amount currency source } } }`)
		if data.Changed != nil && data.Changed.Outcome != nil {
			o := data.Changed.Outcome
			got = string(o.Value)
			if o.Amount != nil {
				got += fmt.Sprint(" ", *o.Amount, " ", *o.Currency)
			}
		}
		if got != tt.want {
			t.Errorf("setLeadOutcome%s: %q, want %q", tt.arguments, got, tt.want)
		}
	}

	outcome := "leads outcome " + lead.Reference(id)
	s.Prints(outcome+" won --amount 1200.5 --currency EUR", "WON")
	s.Prints("leads show "+id, "outcome.amount             1200.5", "command:")
	s.Prints(outcome+" none", "reference")
	s.Prints("leads show " + id).Without("outcome")

	recorded := 0
	for _, entry := range s.AuditEntries() {
		if strings.HasPrefix(entry, "OUTCOME "+id) && !strings.Contains(entry, "1200") {
			recorded++
		}
	}
	if recorded != 7 {
		t.Errorf("%d outcomes are in the audit, want 7: %q", recorded, s.AuditEntries())
	}
}
