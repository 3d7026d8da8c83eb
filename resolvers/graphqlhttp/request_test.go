package graphqlhttp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"siteapi/schema"
)

// Clients get the media type that they prefer. The audit suite tests its own
// requirements.
func TestNegotiation(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)

	for accept, want := range map[string]string{
		"application/graphql-response+json,application/json;q=0.9": typeGraphQL, // Apollo Client
		"application/graphql-response+json, application/graphql+json, " +
			"application/json, text/event-stream, multipart/mixed": typeGraphQL, // urql
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": typeJSON, // a browser
		"application/graphql-response+json;q=0, */*":                      typeJSON,
		"text/html":                "",
		"application/json;q=wrong": "",
	} {
		got := d.post(t, accept, `{"query":"{ __typename }"}`)
		ct, status := want+"; charset=utf-8", 200
		if want == "" {
			ct, status = typeJSON+"; charset=utf-8", 406
		}
		if got.status != status || got.header.Get("Content-Type") != ct {
			t.Errorf("Accept %q: %d %q", accept, got.status, got.header.Get("Content-Type"))
		}
	}
}

func TestErrorsOfExecution(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, func(s *setup) {
		s.site.fails = &schema.Error{Code: schema.CodeUpstreamUnavailable, Message: "The content is unavailable."}
	})

	for _, accept := range []string{typeJSON, typeGraphQL} {
		got := d.ask(t, accept, phoneQuery)
		want := `{"data":{"SiteSettings":null},"errors":[{"message":"The content is unavailable."`
		if got.status != 200 || !strings.HasPrefix(got.body, want) {
			t.Errorf("got %d %s", got.status, got.body)
		}

		if record := <-d.records; record.Code != schema.CodeUpstreamUnavailable || record.Type != "query" ||
			record.Cached {
			t.Errorf("summary %+v", record)
		}
	}
}

func TestMutationsSeeTheirCallerAndBody(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	body := asBody(t, map[string]any{"query": `mutation { clearCache(all: true) { cleared } }`})

	got := d.do(t, "POST", "",
		http.Header{"Content-Type": {typeJSON}, "Authorization": {"Bearer secret"}},
		strings.NewReader(body))
	if got.body != `{"data":{"clearCache":{"cleared":3}}}` {
		t.Errorf("with a token: %s", got.body)
	}

	if d.body != body {
		t.Errorf("the mutation saw %q", d.body)
	}

	if got := d.post(t, "", body); !strings.Contains(got.body, `"UNAUTHENTICATED"`) {
		t.Errorf("without a token: %s", got.body)
	}
	invalid := `mutation { clearCache(pattern: "") { cleared } }`
	if got := d.ask(t, typeGraphQL, invalid); got.status != 401 ||
		got.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("invalid input without a token: %d %v %s", got.status, got.header, got.body)
	}
}

// Wrong values are reported all at once with their fields, in variables and in the
// document. Hints are dropped in variables only.
func TestWrongValues(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)

	header := http.Header{"Accept": {typeGraphQL}, "Content-Type": {typeJSON}, "Authorization": {"Bearer secret"}}
	got := d.do(t, "POST", "", header, strings.NewReader(asBody(t, map[string]any{
		"query": `mutation { trackQuote(input: {sessionId: 7}) { success } clearCache(all: "x") { cleared } }`,
	})))
	if got.status != 400 || strings.Count(got.body, `"field"`) != 2 || d.runs.Load() != 0 {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if record := <-d.records; fmt.Sprint(record.Type, record.RootFields) != "mutation[trackQuote clearCache]" ||
		record.Code != schema.CodeBadUserInput {
		t.Errorf("summary %+v", record)
	}

	got = d.ask(t, typeGraphQL, `mutation { trackQuote(input: {sessionId: "s", selections: {projectType: {}}}) { success } }`)
	if got.status != 400 || d.runs.Load() != 0 {
		t.Errorf("got %s", got.body)
	}
	if got = d.ask(t, typeGraphQL, `mutation { trackQuote(input: {}) { nothing } }`); !strings.Contains(got.body, "Cannot query field") {
		t.Errorf("got %s", got.body)
	}
}
