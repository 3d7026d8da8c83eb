package app

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"siteapi/schema"
)

// A list that an open page asks for again after each change, or page by page, is one entry
// with the number of all leads in it. Another filter or another operator gets one of its own.
func TestAuditOfLists(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.groups = "ops"
	address := freeAddress(t)
	s := newSite(t, p.environ(address)...).start()
	for _, session := range []string{"one", "two", "three"} {
		s.arrives(s.submit(session))
	}
	b := &browser{t: t, base: "http://" + address}
	if _, text := b.signsIn(); b.cookie == nil {
		t.Fatal(text)
	}

	known := s.recorded() // the test looks at deliveries with a command
	lists := func(what, path, operation string, want []string, headers ...string) (cursor string) {
		t.Helper()
		body, _ := json.Marshal(object{"query": operation})
		_, answer := b.send("POST", path, string(body), headers...)
		raw, _ := json.Marshal(answer)
		var result struct {
			Data struct {
				List struct{ PageInfo schema.PageInfo }
			}
		}
		if err := json.Unmarshal(raw, &result); err != nil || answer["errors"] != nil {
			t.Fatalf("%s: %v %s", what, err, raw)
		}

		all := s.recorded()
		if got := all[len(known):]; !slices.Equal(got, want) {
			t.Errorf("%s: the audit has %q, want %q", what, got, want)
		}
		known = all
		return schema.ValueOr(result.Data.List.PageInfo.EndCursor, "")
	}
	const rest = `) { edges { node { id contact { email } } } pageInfo { endCursor } } }`
	leads := func(what, arguments string, want ...string) string {
		t.Helper()
		return lists(what, "/admin/graphql", `{ list: leads(`+arguments+rest, want)
	}

	next := leads("opened", `first: 1`, `LISTED  {"count":3}`)
	leads("refreshed", `first: 1`)
	leads("more of it", `first: 2`)
	leads("its next page", `first: 1, after: "`+next+`"`)
	leads("in another order", `first: 1, sort: LARGEST`)
	leads("another state", `state: DELIVERED`, `LISTED  {"count":3,"state":"DELIVERED"}`)
	leads("searched", `search: "one"`, `LISTED  {"count":1,"searched":true}`)
	leads("searched for something else", `search: "two"`, `LISTED  {"count":1,"searched":true}`)
	leads("searched for that again", `search: "two"`)
	lists("counted", "/admin/graphql", `{ list: leads(search: "thr") { counts { total } pageInfo { endCursor } } }`,
		[]string{`LISTED  {"count":1,"searched":true}`})
	lists("only counted", "/admin/graphql", `{ list: leads(search: " ", locale: en) { counts { total } pageInfo { endCursor } } }`, nil)
	leads("back at the first list", `first: 50`)
	lists("another operator", "/graphql", `{ list: leads(first: 1`+rest,
		[]string{`LISTED  {"count":3}`}, "Authorization: Bearer secret-of-operators")

	deliveries := func(what, arguments string, want ...string) string {
		t.Helper()
		fields := strings.Replace(rest, "contact", "lead { contact", 1)
		fields = strings.Replace(fields, "email }", "email } }", 1)
		return lists(what, "/admin/graphql", `{ list: deliveries(`+arguments+fields, want)
	}
	next = deliveries("deliveries", `first: 2`, `LISTED  {"count":2,"of":"deliveries"}`)
	deliveries("deliveries refreshed", `first: 2`)
	deliveries("more deliveries", `first: 2, after: "`+next+`"`)
	deliveries("other deliveries", `first: 2, target: CRM`, `LISTED  {"count":2,"of":"deliveries"}`)
}

// A stream that names leads by more than a viewer sees is one entry for a while, however often
// a page connects.
func TestAuditOfStreams(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)
	stream := func(fields string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body := `{"query":"subscription { leadEvents { ` + fields + ` } }"}`
		req, err := http.NewRequestWithContext(ctx, "POST", b.base+"/graphql", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Accept":        "text/event-stream",
			"Content-Type":  "application/json",
			"Authorization": "Bearer secret-of-operators",
		} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
		}
		if !strings.Contains(lines.Text(), `"leadEvents":{`) {
			t.Errorf("%d %s", resp.StatusCode, lines.Text())
		}
	}

	stream("position changes { reference kind }")
	if got := s.recorded(); len(got) != 0 {
		t.Errorf("a stream without ids: %q", got)
	}
	stream("changes { id }")
	stream("position changes { id reference }")
	if got, want := s.recorded(), []string{`LISTED  {"of":"lead events"}`}; !slices.Equal(got, want) {
		t.Errorf("the audit has %q, want %q", got, want)
	}
}
