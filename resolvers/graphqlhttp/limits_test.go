package graphqlhttp_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	fields := func(n int) string { return "__typename " + numbered(n-1, "a%d: __typename ") }

	cases := []struct{ name, allowed, rejected, want string }{
		{"root fields", "{" + fields(20) + "}", "{" + fields(21) + "}", "more than 20 root fields"},
		{"aliases", settings(fields(51)), settings(fields(52)), "more than 50 aliases"},
		{
			"directives",
			settings("contactPhone " + strings.Repeat("... @skip(if: false) { contactPhone } ", 50)),
			settings("contactPhone " + strings.Repeat("... @skip(if: false) { contactPhone } ", 51)),
			"more than 50 directives",
		},
		{
			"cost",
			"{" + numbered(4, "...F%d ") + "} " +
				numbered(4, "fragment F%[1]d on Query { a%[1]d: quotePdf(id: \"x\") { size } } "),
			"{" + numbered(5, "...F%d ") + "} " +
				numbered(5, "fragment F%[1]d on Query { a%[1]d: quotePdf(id: \"x\") { size } } "),
			"The operation costs 2005; the limit is 2000",
		},
	}

	for _, c := range cases {
		if got, _ := d.ask(t, "", c.allowed).firstError(t); strings.Contains(got, "more than") ||
			strings.Contains(got, "costs") {
			t.Errorf("%s: the maximum is rejected: %s", c.name, got)
		}

		if got, code := d.ask(t, "", c.rejected).firstError(t); !strings.Contains(got, c.want) ||
			code != "BAD_USER_INPUT" {
			t.Errorf("%s: above the maximum: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)

	exact := `{"query":"{ __typename }","extensions":{"a":"` // padded to the limit
	exact += strings.Repeat("x", 1<<20-len(exact)-3) + `"}}`
	if got := d.post(t, "", exact); got.status != 200 {
		t.Errorf("1 MiB: %d %.200s", got.status, got.body)
	}
	for name, body := range map[string]io.Reader{
		"one byte more":   strings.NewReader(exact + " "),
		"10 MB in chunks": io.MultiReader(bytes.NewReader(make([]byte, 10<<20))),
	} {
		got := d.do(t, "POST", "", http.Header{"Content-Type": {typeJSON}}, body)
		if _, code := got.firstError(t); got.status != 413 ||
			code != "PAYLOAD_TOO_LARGE" {
			t.Errorf("%s: %d %.200s", name, got.status, got.body)
		}
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	s := newSetup(func(s *setup) {
		s.site.during = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	})

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()

	w, body := httptest.NewRecorder(), asQuery(t, phoneQuery)
	r := httptest.NewRequestWithContext(ctx, "POST", "/graphql", strings.NewReader(body))
	r.Header.Set("Content-Type", typeJSON)
	if s.handler(t, nil).ServeHTTP(w, r); !strings.Contains(w.Body.String(), `"UPSTREAM_UNAVAILABLE"`) {
		t.Errorf("got %s", w.Body)
	}
}

// introspection is a query like those of GraphiQL and of code generators.
func introspection() string {
	ofType := "kind name"
	for range 9 {
		ofType = "kind name ofType { " + ofType + " }"
	}
	return `query IntrospectionQuery { __schema { description queryType { name kind } mutationType { name kind }
		subscriptionType { name kind } types { ...FullType }
		directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } } } }
	fragment FullType on __Type { kind name description specifiedByURL isOneOf
		fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...InputValue }
			type { ...TypeRef } isDeprecated deprecationReason }
		inputFields(includeDeprecated: true) { ...InputValue } interfaces { ...TypeRef }
		enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
	fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue isDeprecated deprecationReason }
	fragment TypeRef on __Type { ` + ofType + ` }`
}

func TestIntrospectionPassesTheLimits(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, func(s *setup) { s.documents.Introspection = true })
	got := d.ask(t, "", introspection())
	if got.status != 200 || !strings.Contains(got.body, `"name":"SiteSettings"`) ||
		strings.Contains(got.body, `"errors"`) {
		t.Errorf("got %d %.300s", got.status, got.body)
	}
}
