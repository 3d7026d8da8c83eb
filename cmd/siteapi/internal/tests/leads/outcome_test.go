package leads

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/schema"
)

// Operators set the outcome of a lead through GraphQL and with a command. The audit
// has each change, with the amount of a won lead.
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
		{id, `, outcome: LOST, lossReason: PRICE, lossNote: "  Twice\r\nas much. "`, "LOST PRICE Twice\nas much."},
		{id, `, outcome: LOST, lossNote: "Moved away."`, "LOST Moved away."},
		{id, `, outcome: WON, amount: 0, currency: "JPY"`, "WON 0 JPY"}, // and no reason of a loss any more
		{id, `, outcome: WON, lossReason: PRICE`, "BAD_USER_INPUT"},
		{id, `, outcome: QUALIFIED, lossNote: "x"`, "BAD_USER_INPUT"},
		{id, `, lossNote: "x"`, "BAD_USER_INPUT"},
		{id, `, outcome: LOST, lossReason: MOON`, "BAD_USER_INPUT"},
		{id, `, outcome: LOST, lossNote: "` + strings.Repeat("ș", 501) + `"`, "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1.5, currency: "JPY"`, "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1, currency: "XXX"`, "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1`, "BAD_USER_INPUT"},
		{id, `, outcome: WON, currency: "EUR"`, "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1000000001, currency: "EUR"`, "BAD_USER_INPUT"},
		{id, `, outcome: LOST, amount: 1, currency: "EUR"`, "BAD_USER_INPUT"},
		{"nosuch12", `, outcome: LOST`, "NOT_FOUND"},
		{inReview, `, outcome: LOST`, "BAD_USER_INPUT"},
	} {
		data, got := b.Asks(`mutation { changed: setLeadOutcome(lead: "` + tt.id + `"` + tt.arguments +
			`) { lead { outcome { value amount currency source lossReason lossNote } } } }`)
		if l := data.Changed.Lead; l != nil && l.Outcome != nil {
			o := l.Outcome
			got = string(o.Value)
			if o.Amount != nil {
				got += fmt.Sprint(" ", *o.Amount, " ", *o.Currency)
			}
			for _, why := range []string{string(schema.ValueOr(o.LossReason, "")), schema.ValueOr(o.LossNote, "")} {
				got = strings.TrimSpace(got + " " + why)
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
	s.Prints("audit list --action outcome", `{"amount":1200.5,"currency":"EUR","outcome":"WON"}`, `{"outcome":"LOST"}`)

	var recorded []string
	for _, entry := range s.AuditEntries() {
		if detail, found := strings.CutPrefix(entry, "OUTCOME "+id+" "); found {
			recorded = append(recorded, detail)
		}
	}
	if want := []string{
		`{"outcome":"QUALIFIED"}`,
		`{"amount":1200.5,"currency":"EUR","outcome":"WON"}`,
		`{"outcome":"LOST"}`,
		`{}`,
		`{"lossReason":"PRICE","outcome":"LOST"}`,
		`{"outcome":"LOST"}`,
		`{"amount":0,"currency":"JPY","outcome":"WON"}`,
		`{"amount":1200.5,"currency":"EUR","outcome":"WON"}`,
		`{}`,
	}; !slices.Equal(recorded, want) {
		t.Errorf("the audit has %q, want %q", recorded, want)
	}
}
