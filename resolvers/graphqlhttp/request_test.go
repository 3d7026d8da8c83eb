package graphqlhttp_test

import (
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

	for _, accept := range []string{typeJSON, typeJSON, typeGraphQL} { // never cached
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
