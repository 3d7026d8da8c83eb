package leads

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/schema"
)

// Operators find leads and deliveries through the schema and change their state, on both
// databases, with a line in the log for each and without personal data in it.
func TestOperatorFields(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s, b := newOperatedSite(t, "DATABASE_URL="+database)
		testOperatorFields(t, s, b)
	})
}

func testOperatorFields(t *testing.T, s *apptest.Site, b *apptest.Browser) {
	person := func(session, first, last string) string {
		t.Helper()
		in := apptest.NewLead(session)
		in["contact"].(object)["firstName"], in["contact"].(object)["lastName"] = first, last
		status, answer := s.Post("/api/quote/submit", in)
		if status != http.StatusOK {
			t.Fatal(status, answer)
		}
		return answer["submissionId"].(string)
	}

	stefania := person("one", "Ștefania", "Țurcanu")
	person("two", "Ana", "Núñez")
	spam := submitSpam(s, "bot")
	s.Arrives(stefania)

	found := func(arguments string) (ids []string) {
		t.Helper()
		data, code := b.Asks("{ leads(" + arguments +
			") { edges { node { id state deliveries { state lead { id } } } } } }")
		if code != "" {
			t.Errorf("%s: %s", arguments, code)
		}
		for _, e := range data.Leads.Edges {
			ids = append(ids, e.Node.ID)
		}
		return ids
	}

	for arguments, want := range map[string]string{
		`search: "STEF turc"`:                        stefania,
		`search: "one@exam"`:                         stefania,
		`search: "` + lead.Reference(stefania) + `"`: stefania,
		`state: IN_REVIEW`:                           spam,
		`state: IN_REVIEW, locale: ro, first: 1`:     spam,
		`search: "stef", state: DELIVERED`:           stefania,
	} {
		if ids := found(arguments); !slices.Equal(ids, []string{want}) {
			t.Errorf("%s finds %v, want %s", arguments, ids, want)
		}
	}

	if ids := found(`search: "stef nunez"`); len(ids) != 0 {
		t.Errorf("two people are found as one: %v", ids)
	}

	data, code := b.Asks(`{ lead(id: "` + lead.Reference(stefania) +
		`") { id contact { firstName } deliveries { target state attemptCount lead { id } } } }`)
	if code != "" || data.Lead == nil || data.Lead.Contact.FirstName != "Ștefania" ||
		len(data.Lead.Deliveries) != 4 || data.Lead.Deliveries[0].Lead.ID != stefania {
		t.Errorf("%s %+v", code, data.Lead)
	}
	if data, code = b.Asks(`{ lead(id: "nosuch12") { id } }`); code != "" || data.Lead != nil {
		t.Errorf("an unknown lead: %s %+v", code, data.Lead)
	}

	change := func(field, id, wantCode string, want lead.State) {
		t.Helper()
		data, code := b.Asks(`mutation { changed: ` + field + `(id: "` + id + `") { state } }`)
		if code != wantCode || code == "" && data.Changed.State != want {
			t.Errorf("%s: %q %+v, want %q %s", field, code, data.Changed, wantCode, want)
		}
	}

	expecting := func(field, id string, state lead.State) string {
		t.Helper()
		_, code := b.Asks(`mutation { changed: ` + field + `(id: "` + id + `", expected: ` +
			string(state) + `) { state } }`)
		return code
	}

	change("rejectLead", stefania, "BAD_USER_INPUT", "")
	change("rejectLead", "nosuch12", "NOT_FOUND", "")
	change("rejectLead", spam, "", lead.StateRejected)

	// Of two who decide about what they saw in review, the second is told.
	for _, field := range []string{"releaseLead", "rejectLead"} {
		for _, id := range []string{spam, stefania} {
			if code := expecting(field, id, lead.StateInReview); code != "CONFLICT" {
				t.Errorf("%s, although somebody was faster: %q", field, code)
			}
		}
	}
	change("rejectLead", spam, "BAD_USER_INPUT", "") // it is not in review any more

	if _, code := b.Asks(`mutation { changed: resendLead(id: "` + spam +
		`", target: CMS) { state } }`); code != "BAD_USER_INPUT" {
		t.Errorf("sending a rejected lead: %q", code)
	}
	if data, code := b.Asks(`mutation { changed: releaseLead(id: "` + spam + `") { state } }`); code != "" ||
		data.Changed.State == lead.StateRejected {
		t.Errorf("releasing it after all: %q %+v", code, data.Changed)
	}

	s.Arrives(spam)
	if data, code := b.Asks(`mutation { changed: resendLead(id: "` + stefania +
		`", target: CRM) { id } }`); code != "" || data.Changed.ID != stefania {
		t.Errorf("resending: %q", code)
	}
	if _, code := b.Asks(`mutation { changed: resendLead(id: "` + stefania +
		`", target: WEBHOOK) { id } }`); code != "BAD_USER_INPUT" {
		t.Errorf("resending to a target that is not set up: %q", code)
	}

	data, code = b.Asks(`{ deliveries(target: CMS, first: 1) { ` +
		`edges { cursor node { id lead { deliveries { id } } } }
		pageInfo { hasNextPage endCursor } } }`)
	if code != "" || len(data.Deliveries.Edges) != 1 ||
		len(data.Deliveries.Edges[0].Node.Lead.Deliveries) != 4 || !data.Deliveries.PageInfo.HasNextPage {
		t.Fatalf("%q %+v", code, data.Deliveries)
	}

	if data, code := b.Asks(`mutation { retried: retryDelivery(id: "` + data.Deliveries.Edges[0].Node.ID +
		`") { target lead { id deliveries { id } } } }`); code != "" ||
		len(data.Retried.Lead.Deliveries) != 4 ||
		data.Retried.Target != schema.DeliveryTargetCms || data.Retried.Lead.ID != spam {
		t.Errorf("retrying: %q %+v", code, data.Retried)
	}
	if _, code := b.Asks(`mutation { retried: retryDelivery(id: "99999") { id } }`); code != "NOT_FOUND" {
		t.Errorf("retrying an unknown delivery: %q", code)
	}

	decideAtOnce(t, s, expecting)
	readsEveryPage(t, b, person)

	data, code = b.Asks(`{ funnel { submissions steps { count } weeks { week } } ` +
		`serviceHealth { checks { name state } content { documents } cache { type } } }`)
	if code != "" || data.Funnel.Submissions < 3 || len(data.Funnel.Steps) != 7 ||
		len(data.ServiceHealth.Checks) < 7 || data.ServiceHealth.Cache.Type != "memory" {
		t.Errorf("%q %+v", code, data)
	}

	const null = `mutation($d: Boolean = null) ` +
		`{ erased: eraseLeads(email: "one@example.com", dryRun: $d) { complete } }`
	if data, code := b.Asks(null); code != "BAD_USER_INPUT" {
		t.Errorf("null for dryRun, which is not its default: %q %+v", code, data.Erased)
	}

	for _, dryRun := range []bool{true, false} {
		s.Arrives(stefania)
		data, code := b.Asks(fmt.Sprintf(
			`mutation { erased: eraseLeads(email: "ONE@example.com", dryRun: %v) { dryRun complete `+
				`places { unit found erased } } }`, dryRun))
		if code != "" || data.Erased.Complete == dryRun || len(found(`search: "stef"`)) == 1 != dryRun {
			t.Errorf("erasing: %q %+v", code, data.Erased)
		}
	}

	log := s.Log.String()
	if n := strings.Count(log, `"field":"eraseLeads"`); n != 1 {
		t.Errorf("%d erasures are logged, want one: a preview is none", n)
	}
	for _, field := range []string{
		"leads",
		"lead",
		"deliveries",
		"rejectLead",
		"releaseLead",
		"resendLead",
		"retryDelivery",
		"eraseLeads",
	} {
		if !strings.Contains(log, `"actor":"token","field":"`+field+`","leads":["`) {
			t.Errorf("no audit line of %s", field)
		}
	}

	for _, personal := range []string{
		"Ștefania", "stef", "STEF", "Țurcanu", "example.com", stefania, "secret-of-operators",
	} {
		if strings.Contains(log, personal) {
			t.Errorf("%q is in the log", personal)
		}
	}
}

// decideAtOnce lets four release a lead and four reject it at the same time: one wins, and
// the others are told.
func decideAtOnce(t *testing.T, s *apptest.Site, expecting func(field, id string, state lead.State) string) {
	t.Helper()
	id := submitSpam(s, "decided-at-once")

	codes := make(chan string, 8)
	for i := range cap(codes) {
		go func() {
			codes <- expecting([]string{"releaseLead", "rejectLead"}[i%2], id, lead.StateInReview)
		}()
	}

	got := map[string]int{}
	for range cap(codes) {
		got[<-codes]++
	}
	if got[""] != 1 || got["CONFLICT"] != 7 {
		t.Errorf("of eight decisions at once: %v", got)
	}
}

// readsEveryPage reads all leads page by page while more arrive: each earlier one is read once.
func readsEveryPage(t *testing.T, b *apptest.Browser, person func(session, first, last string) string) {
	t.Helper()
	var want, got []string
	for i := range 7 {
		want = append(want, person(fmt.Sprint("page-", i), "Paul", "Pagină"))
	}
	slices.Reverse(want)

	after := "null"
	for n := 0; n < 10; n++ {
		data, code := b.Asks(`{ leads(search: "pagina", first: 2, after: ` + after +
			`) { edges { node { id } } pageInfo { hasNextPage endCursor } } }`)
		if code != "" {
			t.Fatal(code)
		}

		for _, e := range data.Leads.Edges {
			got = append(got, e.Node.ID)
		}
		if !data.Leads.PageInfo.HasNextPage {
			break
		}

		after = `"` + *data.Leads.PageInfo.EndCursor + `"`
		person(fmt.Sprint("late-", n), "Paul", "Pagină")
	}

	if !slices.Equal(got, want) {
		t.Errorf("the pages hold\n%v\nwant\n%v", got, want)
	}

	orders := []string{"NEWEST", "OLDEST", "LARGEST", "SMALLEST"}
	for _, of := range orders {
		data, _ := b.Asks(`{ leads(first: 1, sort: ` + of + `) { pageInfo { endCursor } } }`)
		for _, in := range orders {
			want := "BAD_USER_INPUT"
			if in == of {
				want = ""
			}
			if _, code := b.Asks(`{ leads(sort: ` + in + `, after: "` + *data.Leads.PageInfo.EndCursor +
				`") { pageInfo { hasNextPage } } }`); code != want {
				t.Errorf("a cursor of %s in %s: %q, want %q", of, in, code, want)
			}
		}
	}
}
