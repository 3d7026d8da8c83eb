package graphqlhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"siteapi/resolvers/graphqlhttp"
	"siteapi/schema"
)

func TestNegotiation(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)

	for accept, want := range map[string]string{
		"":                                typeJSON,
		"*/*":                             typeJSON,
		"application/*":                   typeJSON,
		typeJSON:                          typeJSON,
		typeGraphQL:                       typeGraphQL,
		"APPLICATION/JSON":                typeJSON,
		"application/json; charset=utf-8": typeJSON,
		"application/graphql-response+json,application/json;q=0.9": typeGraphQL, // Apollo Client
		"application/graphql-response+json, application/json":      typeGraphQL, // graphql-request
		"application/graphql-response+json, application/graphql+json, " +
			"application/json, text/event-stream, multipart/mixed": typeGraphQL, // urql
		"application/json, application/graphql-response+json":             typeJSON,
		"application/json;q=0.5, application/graphql-response+json;q=0.4": typeJSON,
		"application/graphql-response+json;q=0, application/json":         typeJSON,
		"application/graphql-response+json;q=0, */*":                      typeJSON,
		"application/json;q=0, */*":                                       typeGraphQL,
		"*/*, application/graphql-response+json":                          typeGraphQL,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": typeJSON, // a browser
		"text/html":                                "",
		"text/event-stream":                        "",
		"application/json;q=0":                     "",
		"application/json;q=wrong":                 "",
		"application/json ; q=0.1 , text/html;q=1": typeJSON,
		", ,": "",
	} {
		got := d.post(t, accept, `{"query":"{ __typename }"}`)
		if want == "" {
			if got.status != http.StatusNotAcceptable {
				t.Errorf("Accept %q: %d %s", accept, got.status, got.body)
			}
			continue
		}

		if ct := got.header.Get("Content-Type"); got.status != http.StatusOK || ct != want+"; charset=utf-8" {
			t.Errorf("Accept %q: %d %q", accept, got.status, ct)
		}
	}

	header := http.Header{"Content-Type": {typeJSON}, "Accept": {"text/html", typeGraphQL}}
	got := d.do(t, http.MethodPost, "", header, strings.NewReader(`{"query":"{ __typename }"}`))
	if ct := got.header.Get("Content-Type"); ct != typeGraphQL+"; charset=utf-8" {
		t.Errorf("two Accept headers: %q", ct)
	}
}

func TestAcceptedContentTypes(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)

	for _, ct := range []string{
		"application/json; charset=utf-8",
		"application/json;charset=UTF-8",
		"Application/JSON",
		"application/json; charset=utf8",
	} {
		got := d.do(t, http.MethodPost, "", http.Header{"Content-Type": {ct}},
			strings.NewReader(`{"query":"{ __typename }"}`))
		if got.status != http.StatusOK {
			t.Errorf("%s: %d", ct, got.status)
		}
	}
}

func TestErrorsOfExecution(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, func(s *setup) {
		s.site.fails = &schema.Error{Code: schema.CodeUpstreamUnavailable, Message: "The content is away."}
	})

	for _, accept := range []string{typeJSON, typeGraphQL} {
		got := d.ask(t, accept, phoneQuery)
		want := `{"data":{"SiteSettings":null},"errors":[{"message":"The content is away."`
		if got.status != http.StatusOK || !strings.HasPrefix(got.body, want) {
			t.Errorf("got %d %s", got.status, got.body)
		}

		if said := <-d.said; said.Code != schema.CodeUpstreamUnavailable || said.Type != "query" ||
			said.Cached {
			t.Errorf("summary %+v", said)
		}
	}
}

func TestMutationsSeeTheirCallerAndBody(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	body := asBody(t, map[string]any{"query": `mutation { clearCache(all: true) { cleared } }`})

	got := d.do(t, http.MethodPost, "",
		http.Header{"Content-Type": {typeJSON}, "Authorization": {"Bearer secret"}},
		strings.NewReader(body))
	if got.body != `{"data":{"clearCache":{"cleared":3}}}` {
		t.Errorf("with a token: %s", got.body)
	}

	if seen := <-d.bodies; string(seen) != body {
		t.Errorf("the mutation saw %q", seen)
	}

	if got := d.post(t, "", body); !strings.Contains(got.body, `"UNAUTHENTICATED"`) {
		t.Errorf("without a token: %s", got.body)
	}
}

// The executor reports mistakes in values, since it finds all of them with their paths.
func TestWrongValuesAreLeftToTheExecutor(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)

	got := d.ask(t, typeGraphQL,
		`mutation { trackQuote(input: {sessionId: 7}) { success } clearCache(all: "x") { cleared } }`)
	if got.status != http.StatusBadRequest || strings.Count(got.body, `"message"`) != 2 ||
		d.runs.Load() != 0 {
		t.Errorf("got %d %s", got.status, got.body)
	}

	if said := <-d.said; said.Type != "mutation" ||
		fmt.Sprint(said.RootFields) != "[trackQuote clearCache]" ||
		said.Code != schema.CodeBadUserInput {
		t.Errorf("summary %+v", said)
	}

	// A hint is dropped in a variable only.
	got = d.ask(t, typeGraphQL, `mutation { trackQuote(input: {sessionId: "s", selections: `+
		`{projectType: {}, features: ["a", 7]}}) { success } }`)
	if got.status != http.StatusBadRequest || d.runs.Load() != 0 {
		t.Errorf("got %s", got.body)
	}
	<-d.said

	got = d.ask(t, typeGraphQL, `mutation { trackQuote(input: {}) { nothing } }`)
	if message, _ := got.firstError(t); !strings.HasPrefix(message, "Cannot query field") &&
		!strings.Contains(got.body, "Cannot query field") {
		t.Errorf("got %s", got.body)
	}
}

func TestWriteError(t *testing.T) {
	t.Parallel()

	for accept, want := range map[string]string{
		"":          typeJSON,
		typeGraphQL: typeGraphQL,
		"text/html": typeJSON,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/graphql", nil)
		r.Header.Set("Accept", accept)

		graphqlhttp.WriteError(w,
			r.WithContext(schema.WithCaller(r.Context(), schema.Caller{RequestID: "req-1"})),
			&schema.Error{
				Code:       schema.CodeRateLimited,
				Message:    `Too "many".`,
				RetryAfter: 1500 * time.Millisecond,
			})

		const body = `{"errors":[{"message":"Too \"many\".",` +
			`"extensions":{"code":"RATE_LIMITED","requestId":"req-1","retryAfter":2}}]}`
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "2" ||
			w.Body.String() != body || w.Header().Get("Content-Type") != want+"; charset=utf-8" {
			t.Errorf("Accept %q: %d %v %s", accept, w.Code, w.Header(), w.Body)
		}
	}
}
