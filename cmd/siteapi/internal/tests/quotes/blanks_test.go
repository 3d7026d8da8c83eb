package quotes

import (
	"strconv"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/schema"
)

// White space around an argument or a flag's value does not change the result of a field
// or a command.
func TestBlanksAroundArguments(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "LEAD_WEBHOOK_URL=http://127.0.0.1:1", "LEAD_WEBHOOK_SECRET="+apptest.LeadSecret,
		"ADMIN_TOKENS="+apptest.Owners("ana@example.com"), apptest.Quick)
	id := s.Submit("one", `"attribution": {"source": "ads", "campaign": "spring"}`)
	s.Reaches(id, "webhook", "retrying")
	webhook := strconv.FormatInt(s.Deliveries(id)["webhook"].ID, 10)

	for _, operation := range []string{
		`mutation { changed: assignLeads(leads: [" ` + id + ` "], owner: " Ana@Example.com ") { leads { id } failed { lead } } }`,
		`mutation { changed: setLeadOutcome(lead: " ` + lead.Reference(id) + ` ", outcome: WON, amount: 1, currency: " EUR ") { lead { id } } }`,
		`{ lead(lead: " ` + lead.Reference(id) + ` ") { id } }`,
		`{ leads(filter: {source: " ads ", currency: " ` + s.ShowLead(id).Estimate.Currency + ` "}) { edges { node { id } } } }`,
		`{ audit(lead: " ` + id + ` ") { edges { node { lead } } } }`,
		`mutation { retryDeliveries(ids: [" ` + webhook + ` "]) { deliveries { id lead { id } } } }`,
		`mutation { releaseLeads(leads: [" ` + id + ` "]) { failed { lead reason } } }`,
		`{ quotePdf(id: " ` + id + ` ") { fileName } }`,
		`{ funnel(source: " ads ", campaign: " spring ") { sources { source campaign leads } } }`,
	} {
		text := string(s.Response(schema.RoleAdmin, operation))
		found := strings.Contains(text, id) || strings.Contains(text, `"leads":1`) ||
			strings.Contains(text, `"fileName":"oferta-`)
		if !found || strings.Contains(text, `"errors"`) || strings.Contains(text, "NOT_FOUND") {
			t.Errorf("%s: %s", operation, text)
		}
	}

	for _, args := range [][]string{
		{"leads", "list", "--email", " One@example.com "},
		{"leads", "list", "--owner", " ANA@example.com "},
		{"leads", "show", " " + id + " "},
		{"deliveries", "retry", " " + webhook},
		{"deliveries", "list", "--lead", " " + lead.Reference(id) + " "},
	} {
		out, err := s.Command(args...)
		found := strings.Contains(out, lead.Reference(id)) || strings.Contains(out, id) || strings.Join(strings.Fields(out), " ") == "changed 1"
		if err != nil || !found {
			t.Errorf("%q: %v %s", args, err, out)
		}
	}
	if out, err := s.Command("leads", "list", "--owner", " None "); err != nil || !strings.Contains(out, "no leads") {
		t.Errorf("without an owner: %v %s", err, out)
	}
}

// In every argument, a string of invisible characters counts as empty.
func TestInvisibleArguments(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	s.Submit("from-ads", `"attribution": {"source": "ads", "campaign": "spring"}`)
	id := s.Submit("owned")

	for _, operation := range []string{
		`{ leads(filter: {search: "*"}) { counts { total } edges { node { reference owner } } } }`,
		`{ leads(filter: {source: "*", currency: "*"}) { edges { node { reference } } } }`,
		`{ funnel(source: "*", campaign: "*") { leads sources { source leads } } }`,
		`mutation { assignLeads(leads: ["` + id + `"], owner: "*") { leads { owner } } }`,
	} {
		want := string(s.Response(schema.RoleAdmin, strings.ReplaceAll(operation, "*", "")))
		for _, blank := range []string{" ", `\u200b`, `\u3164`} {
			got := string(s.Response(schema.RoleAdmin, strings.ReplaceAll(operation, "*", blank)))
			if got != want || strings.Contains(got, `"errors"`) {
				t.Errorf("%s with %q: %s, want %s", operation, blank, got, want)
			}
		}
	}
}
