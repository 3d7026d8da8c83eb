package leads

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
)

// TestOutcomes: people say what became of a lead, through the schema and with a command, on
// both databases.
func TestOutcomes(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s, b := newOperatedSite(t, "DATABASE_URL="+database)
		testOutcomes(t, s, b)
	})
}

func testOutcomes(t *testing.T, s *apptest.Site, b *apptest.Browser) {
	id := s.Submit("one")
	s.Arrives(id)
	inReview := submitSpam(s, "bot")

	set := func(id, arguments string) (outcome, code string) {
		t.Helper()
		data, code := b.Asks(`mutation { changed: setLeadOutcome(id: "` + id + `"` + arguments +
			`) { outcome { value amount currency at source by } } }`)
		if code != "" || data.Changed.Outcome == nil {
			return "", code
		}

		o := data.Changed.Outcome
		outcome = string(o.Value)
		if o.Amount != nil {
			outcome += fmt.Sprint(" ", *o.Amount, " ", *o.Currency)
		}
		if o.Source != "OPERATOR" || *o.By != "token" || o.At.IsZero() {
			t.Errorf("%s: %+v", arguments, o)
		}
		return outcome, ""
	}

	for _, tt := range []struct{ id, arguments, outcome, code string }{
		{id, `, outcome: QUALIFIED`, "QUALIFIED", ""},
		{id, `, outcome: WON, amount: 1200.5, currency: "EUR"`, "WON 1200.5 EUR", ""},
		{id, `, outcome: WON, amount: 7, currency: " EUR "`, "WON 7 EUR", ""},
		{lead.Reference(id), `, outcome: WON`, "WON", ""},
		{id, `, outcome: LOST`, "LOST", ""},
		{id, `, outcome: null`, "", ""},
		{id, `, outcome: WON, amount: 0, currency: "JPY"`, "WON 0 JPY", ""},
		{id, `, outcome: WON, amount: 1.5, currency: "JPY"`, "", "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1e-300, currency: "EUR"`, "", "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 0.125, currency: "EUR"`, "", "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1, currency: "XXX"`, "", "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1`, "", "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1, currency: ""`, "", "BAD_USER_INPUT"},
		{id, `, outcome: WON, currency: "EUR"`, "", "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: -1, currency: "EUR"`, "", "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1000000001, currency: "EUR"`, "", "BAD_USER_INPUT"},
		{id, `, outcome: WON, amount: 1, currency: "eur"`, "", "BAD_USER_INPUT"},
		{id, `, outcome: LOST, amount: 1, currency: "EUR"`, "", "BAD_USER_INPUT"},
		{id, `, amount: 1, currency: "EUR"`, "", "BAD_USER_INPUT"},
		{"nosuch12", `, outcome: LOST`, "", "NOT_FOUND"},
		{inReview, `, outcome: LOST`, "", "BAD_USER_INPUT"},
	} {
		if outcome, code := set(tt.id, tt.arguments); outcome != tt.outcome || code != tt.code {
			t.Errorf("setLeadOutcome%s: %q %q, want %q %q", tt.arguments, outcome, code, tt.outcome, tt.code)
		}
	}

	outcome := "leads outcome " + lead.Reference(id)
	s.Says(
		apptest.Said{Args: "leads show " + id, Want: []string{"outcome.value              WON", "outcome.amount             0\n", "JPY"}, Not: nil},
		apptest.Said{Args: outcome + " won --amount 1200.5 --currency EUR", Want: []string{"WON"}, Not: nil},
		apptest.Said{Args: "leads show " + id, Want: []string{"outcome.amount             1200.5", "command:"}, Not: nil},
	)
	for _, wrong := range []string{
		" gone", " won lost", "", " won --amount 1", " lost --amount 1 --currency EUR", " won --amount NaN --currency EUR",
		" won --amount 1 --currency euro", " won --amount 1e10 --currency EUR", " none --currency EUR",
	} {
		if out, code := s.Run(strings.Fields(outcome + wrong)...); code != 1 {
			t.Errorf("%s: %d %s", outcome+wrong, code, out)
		}
	}

	out, _ := s.Run("leads", "export", "--search", lead.Reference(id))
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	first := slices.Index(rows[0], "outcome")
	if got := rows[1][first : first+3]; !slices.Equal(got, []string{"won", "1200.5", "EUR"}) ||
		!strings.HasPrefix(rows[1][first+4], "command:") {
		t.Errorf("the export has %q", rows[1][first:])
	}
	s.Says(
		apptest.Said{Args: outcome + " none", Want: []string{"reference"}, Not: nil},
		apptest.Said{Args: "leads show " + id, Want: nil, Not: []string{"outcome"}},
	)

	entries, list := b.Audited()
	n := 0
	for i, e := range list {
		if e.Action == "OUTCOME" {
			n++
			if !strings.HasSuffix(entries[i], id) || strings.Contains(e.Detail, "1200") {
				t.Errorf("the audit has %s %s", entries[i], e.Detail)
			}
		}
	}
	if n != 9 || strings.Count(s.Log.String(), `"field":"setLeadOutcome","leads":["`+lead.Reference(id)) == 0 {
		t.Errorf("%d outcomes are in the audit, want 9: %v", n, entries)
	}
}
