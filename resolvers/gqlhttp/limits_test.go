package gqlhttp_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"siteapi/resolvers/gqlhttp"
)

// fragmentBomb is a document whose fragments, spread out, are 2^n fields.
func fragmentBomb(n int) string {
	var b strings.Builder
	b.WriteString(`{ SiteSettings(id: "siteSettings") { ...F0 } }`)
	for i := range n {
		fmt.Fprintf(&b, " fragment F%d on SiteSettings { ...F%d ...F%d }", i, i+1, i+1)
	}
	fmt.Fprintf(&b, " fragment F%d on SiteSettings { contactPhone }", n)
	return b.String()
}

func settings(inside string) string { return `{ SiteSettings(id: "siteSettings") { ` + inside + ` } }` }

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+" ", i)
	}
	return b.String()
}

func TestLimitsOnDocuments(t *testing.T) {
	t.Parallel()
	d := newDoor(t, func(s *setup) { s.policy.Introspection = true })
	cases := []struct{ name, query, want string }{
		{"1000 aliases", `{ ` + numbered(1000, `a%d: __typename`) + `}`, "limit"},
		{"aliases at the root", `{ ` + numbered(100, `a%d: __typename`) + `}`, "root fields"},
		{"aliases further down", settings(numbered(100, `a%d: contactPhone`)), "aliases"},
		{"root fields", `{ ` + strings.Repeat("__typename ", 30) + `}`, "root fields"},
		{"depth", settings(strings.Repeat("a { ", 300) + "b" + strings.Repeat(" }", 300)), "levels"},
		{"extreme depth", strings.Repeat("{ a", 10_000) + strings.Repeat("}", 10_000), "nesting depth"},
		{"depth of values", `{ content(documentType: ` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `) { id } }`, ""},
		{"tokens", `{ ` + strings.Repeat("a ", 100_000) + `}`, "limit"},
		{"comments", strings.Repeat("#\n", 100_000) + `{ __typename }`, "limit"},
		{"fields", settings(strings.Repeat("contactPhone ", 1500)), "fields"},
		{"fields repeated", settings(strings.Repeat("contactPhone ", 900)), "repeats"},
		{"selections repeated", settings(strings.Repeat("contactPhones { "+strings.Repeat("number ", 28)+"} ", 30)), "repeats"},
		{"fields repeated on every level of fragments", settings(strings.Repeat("... { contactPhone ", 300) + "contactPhone" + strings.Repeat(" }", 300)), "repeats"},
		{"fields repeated in fragments", `{ SiteSettings(id: "siteSettings") { ` + numbered(40, "...F%d") + `} } ` + numbered(40, "fragment F%d on SiteSettings { a: contactPhone a: contactPhone a: contactPhone a: contactPhone a: contactPhone a: contactPhone a: contactPhone a: contactPhone a: contactPhone }"), "aliases"},
		{"directives", settings("contactPhone " + strings.Repeat("@skip(if: false) ", 200)), "directives"},
		{"unknown directives", `query ` + strings.Repeat("@a ", 900) + `{ __typename }`, "directives"},
		{"fragments", `{ ` + numbered(200, "...F%d") + `} ` + numbered(200, "fragment F%d on Query { __typename }"), "fragments"},
		{"fragments spread out", fragmentBomb(40), "fields"},
		{"a fragment in itself", `{ ...A } fragment A on Query { ...A }`, "within itself"},
		{"fragments in a circle", `{ ...A } fragment A on Query { ...B } fragment B on Query { __typename ...A }`, "within itself"},
		{"a circle nobody uses", `{ __typename } fragment A on Query { ...B } fragment B on Query { ...A }`, "within itself"},
		{"two fragments of one name", `{ ...A } fragment A on Query { __typename } fragment A on Query ` + settings("contactPhone"), "only one fragment"},
		{"cost", `{ ` + numbered(19, `a%d: quotePdf(id: "x") { size }`) + `}`, "costs"},
		{"cost of mutations", `mutation { ` + numbered(19, `a%d: trackQuote(input: {sessionId: "a"}) { success }`) + `}`, "costs"},
		{"cost below lists", `{ ` + numbered(19, `a%d: SiteSettings(id: "siteSettings") { contactPhones { number label { en es ro } displayLocation } }`) + ` }`, ""},
		{"introspection, nested", `{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }`, "introspection depth"},
		{"introspection, many times", `{ ` + numbered(19, `a%d: __schema { types { name fields { name args { name } } } directives { name args { name type { name ofType { name ofType { name } } } } } } b%[1]d: __type(name: "Query") { name fields { name description args { name } } }`) + `}`, "root fields"},
		{"thousands of mistakes", `{ SiteSettings(id: "siteSettings") { ` + numbered(900, `x%d`) + `} }`, "Cannot query field"},
		{"a very long name", `{ ` + strings.Repeat("a", 500_000) + ` }`, "Cannot query field"},
		{"a very long string", `{ content(documentType: "` + strings.Repeat("a", 500_000) + `" wrong: "` + strings.Repeat("b", 200_000) + `") { id } }`, "Unknown argument"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := d.ask(t, typeGraphQL, c.query)
			message, code := got.firstError(t)
			if c.want == "" {
				return // within the limits, or refused in the executor's words
			}
			if got.status != http.StatusBadRequest || code != "BAD_USER_INPUT" || !strings.Contains(message, c.want) {
				t.Errorf("got %d %.300s, want %q", got.status, got.body, c.want)
			}
			if len(got.body) > 16<<10 {
				t.Errorf("the answer is %d bytes long", len(got.body))
			}
		})
	}
	if n := d.runs.Load(); n > 19+19 {
		t.Errorf("%d fields were executed", n)
	}
}

func TestLimitsAreSettings(t *testing.T) {
	t.Parallel()
	query := settings("a: contactPhone @skip(if: false) ...F") + ` fragment F on SiteSettings { contactEmail }`
	for name, l := range map[string]gqlhttp.Limits{
		"tokens": {Tokens: 10}, "depth": {Depth: 1}, "fields": {Fields: 2}, "cost": {Cost: 6}, "merges": {Merges: 3},
		"body": {Body: 50}, "one alias is one too many": {Aliases: 1, RootFields: 1, Directives: 1, Fragments: 1},
	} {
		d := newDoor(t, func(s *setup) { s.policy.Limits = l })
		got := d.ask(t, "", query)
		_, code := got.firstError(t)
		if refused := code != ""; refused == strings.HasPrefix(name, "one") {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	off := gqlhttp.Limits{
		Tokens: -1, Depth: -1, Fields: -1, Cost: -1, Body: -1, Merges: -1, Aliases: -1, RootFields: -1, Directives: -1,
		Fragments: -1, Values: -1, ValueDepth: -1, Time: -1,
	}
	d := newDoor(t, func(s *setup) { s.policy.Limits = off })
	if got := d.ask(t, "", `{ `+numbered(500, "a%d: __typename")+`}`); got.status != http.StatusOK || strings.Contains(got.body, "errors") {
		t.Errorf("without limits: %.200s", got.body)
	}
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	exact := `{"query":"{ __typename }","extensions":{"a":"` // padded to the limit
	exact += strings.Repeat("x", 1<<20-len(exact)-3) + `"}}`
	if got := d.post(t, "", exact); got.status != http.StatusOK {
		t.Errorf("1 MiB: %d %.200s", got.status, got.body)
	}
	header := http.Header{"Content-Type": {typeJSON}}
	for name, body := range map[string]io.Reader{
		"one byte more":   strings.NewReader(exact + " "),
		"10 MB":           bytes.NewReader(make([]byte, 10<<20)),
		"10 MB in chunks": io.MultiReader(bytes.NewReader(make([]byte, 10<<20))),
	} {
		start := time.Now()
		got := d.do(t, http.MethodPost, "", header, body)
		if _, code := got.firstError(t); got.status != http.StatusRequestEntityTooLarge || code != "PAYLOAD_TOO_LARGE" {
			t.Errorf("%s: %d %.200s", name, got.status, got.body)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	small := newDoor(t, func(s *setup) { s.policy.Limits.Body = 100 })
	long := url.Values{"query": {"{ __typename } #" + strings.Repeat("x", 100)}}
	if got := small.do(t, http.MethodGet, long.Encode(), nil, nil); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long query string: %d", got.status)
	}
}

func TestLargeVariables(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	for name, value := range map[string]string{
		"deep lists":   strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000),
		"deep objects": strings.Repeat(`{"a":`, 150_000) + "1" + strings.Repeat("}", 150_000),
		"many values":  "[" + strings.Repeat("1,", 400_000) + "1]",
		"not closed":   strings.Repeat("[", 500_000),
	} {
		start := time.Now()
		got := d.post(t, "", `{"query":"{ __typename }","variables":{"a":`+value+`}}`)
		if _, code := got.firstError(t); got.status != http.StatusBadRequest || code != "BAD_USER_INPUT" {
			t.Errorf("%s: %d %.200s", name, got.status, got.body)
		}
		t.Logf("%s: %v", name, time.Since(start))
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	d := newDoor(t, func(s *setup) {
		s.site = newSite()
		s.site.wait = waitForEnd
		s.policy.Limits.Time = 20 * time.Millisecond
	})
	got := d.ask(t, "", phoneQuery)
	if _, code := got.firstError(t); code != "UPSTREAM_UNAVAILABLE" {
		t.Errorf("got %s", got.body)
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
	d := newDoor(t, func(s *setup) { s.policy.Introspection = true })
	got := d.ask(t, "", introspection())
	if got.status != http.StatusOK || !strings.Contains(got.body, `"name":"SiteSettings"`) || strings.Contains(got.body, `"errors"`) {
		t.Errorf("got %d %.300s", got.status, got.body)
	}
}
