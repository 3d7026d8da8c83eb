package http

import (
	"io"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestLimitsOfDocuments(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
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
		if got := s.Query(c.allowed, nil); got.Has("more than") || got.Has("costs") {
			t.Errorf("%s: the maximum is rejected: %s", c.name, got)
		}
		if got := s.Query(c.rejected, nil); !got.Has(c.want) || !got.Has(`"BAD_USER_INPUT"`) {
			t.Errorf("%s: above the maximum: %s, want %q", c.name, got, c.want)
		}
	}
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)

	exact := `{"query":"{ __typename }","extensions":{"a":"` // padded to the limit
	exact += strings.Repeat("x", 1<<20-len(exact)-3) + `"}}`
	if got := s.Do("POST", "/graphql", exact); got.Status != 200 {
		t.Errorf("1 MiB: %.200s", got)
	}
	if got := s.Do("POST", "/graphql", exact+" "); !got.Is(413, `"PAYLOAD_TOO_LARGE"`) {
		t.Errorf("one byte more: %.200s", got)
	}

	chunks := io.MultiReader(strings.NewReader(strings.Repeat(" ", 10<<20)))
	got, err := apptest.HTTP.Post(s.Base+"/graphql", "application/json", chunks)
	must(t, err)
	if _ = got.Body.Close(); got.StatusCode != 413 {
		t.Errorf("10 MB in chunks: %d", got.StatusCode)
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
	s := apptest.Start(t)
	if got := s.Query(introspection(), nil); !got.Is(200, `"name":"SiteSettings"`) || got.Has(`"errors"`) {
		t.Errorf("got %.300s", got)
	}
}
