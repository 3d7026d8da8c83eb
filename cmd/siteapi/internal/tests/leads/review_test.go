package leads

import (
	"fmt"
	"slices"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
)

// Operators release and reject leads in review, on both databases. If two operators
// decide on the same state, the second one gets a conflict.
func TestReviews(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s, b := newOperatedSite(t, "DATABASE_URL="+database)
		delivered, spam := s.Submit("one"), submitSpam(s, "bot")
		s.Arrives(delivered)

		const in, rejected = `, expected: IN_REVIEW`, `, expected: REJECTED`
		for _, step := range []struct{ field, id, expected, want string }{
			{"rejectLeads", delivered, "", "NOT_IN_REVIEW"},
			{"rejectLeads", "nosuch12", "", "NOT_FOUND"},
			{"releaseLeads", delivered, in, "CONFLICT"},
			{"rejectLeads", spam, in, "REJECTED"},
			{"rejectLeads", spam, in, "CONFLICT"},
			{"rejectLeads", spam, "", "NOT_IN_REVIEW"},
			{"releaseLeads", spam, in, "CONFLICT"},
			{"releaseLeads", lead.Reference(spam), rejected, "UNDER_WAY"},
			{"releaseLeads", spam, rejected, "CONFLICT"},
		} {
			if got := decide(b, step.field, step.id, step.expected); got != step.want {
				t.Errorf("%s%s: %s, want %s", step.field, step.expected, got, step.want)
			}
		}
		s.Arrives(spam)

		// Of four releases and four rejections of a lead that run concurrently, exactly
		// one succeeds.
		another := submitSpam(s, "decided-at-once")
		results := make(chan string, 8)
		for i := range cap(results) {
			go func() { results <- decide(b, []string{"releaseLeads", "rejectLeads"}[i%2], another, in) }()
		}
		conflicts := 0
		for range cap(results) {
			if <-results == "CONFLICT" {
				conflicts++
			}
		}
		if conflicts != 7 {
			t.Errorf("of eight concurrent decisions %d got a conflict, want 7", conflicts)
		}
	})
}

// decide releases or rejects a lead, and returns its new state or why it failed.
func decide(b *apptest.Browser, field, id, expected string) string {
	data, code := b.Asks(`mutation { changed: ` + field + `(leads: ["` + id + `"]` + expected +
		`) { leads { state } failed { reason } } }`)
	switch {
	case code != "":
		return code
	case len(data.Changed.Failed) > 0:
		return string(data.Changed.Failed[0].Reason)
	default:
		return string(data.Changed.Leads[0].State)
	}
}

// While more leads arrive, paging returns each earlier lead exactly once. A cursor is
// valid for one order only.
func TestEveryPageIsRead(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)
	var want, got []string
	for i := range 5 {
		want = append(want, s.Submit(fmt.Sprint("page-", i)))
	}
	slices.Reverse(want)

	after := "null"
	for n := 0; after != ""; n++ {
		data, code := b.Asks(`{ leads(filter: {search: "pag"}, first: 2, after: ` + after +
			`) { edges { node { id } } pageInfo { hasNextPage endCursor } } }`)
		if code != "" {
			t.Fatal(code)
		}
		for _, e := range data.Leads.Edges {
			got = append(got, e.Node.ID)
		}
		after = ""
		if data.Leads.PageInfo.HasNextPage {
			after = `"` + *data.Leads.PageInfo.EndCursor + `"`
			s.Submit(fmt.Sprint("page-late-", n))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages have\n%v\nwant\n%v", got, want)
	}

	orders := []string{"NEWEST", "OLDEST", "LARGEST", "SMALLEST"}
	for _, of := range orders {
		data, _ := b.Asks(`{ leads(first: 1, sort: ` + of + `) { pageInfo { endCursor } } }`)
		for _, in := range orders {
			_, code := b.Asks(`{ leads(sort: ` + in + `, after: "` + *data.Leads.PageInfo.EndCursor +
				`") { pageInfo { hasNextPage } } }`)
			if (code == "") != (in == of) {
				t.Errorf("a cursor of %s in %s: %q", of, in, code)
			}
		}
	}
}
