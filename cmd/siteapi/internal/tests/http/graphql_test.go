package http

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

// Introspection is off in production by default.
func TestHintsInDevelopment(t *testing.T) {
	t.Parallel()
	const schema = `{ __schema { queryType { name } } }`
	closed := apptest.Start(t, "ENVIRONMENT=production", "CACHE_API_TOKEN=t", "CMS_WEBHOOK_SECRET=s")
	open := apptest.Start(t)

	for s, shown := range map[*apptest.Service]bool{closed: false, open: true} {
		if got := s.Query(schema, nil); got.Has(`"queryType"`) != shown {
			t.Errorf("the schema: %s", got.Body)
		}
		// The error does not suggest other names of the schema.
		got := s.Query(`{ SiteSettings(id: "settings") { contactEmial } cacheStat { success } }`, nil)
		if !got.Has(`Cannot query field \"contactEmial\" on type \"SiteSettings\"."`) ||
			got.Has("Did you mean") {
			t.Errorf("got %s", got.Body)
		}
	}
}

// A nullable variable may stand where null is not allowed if it or the place has a default.
// Null for it is refused before anything runs, wherever it stands and however it is sent.
func TestNullForAVariable(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "ADMIN_PAGE=on")
	lead := apptest.NewLead("s")

	for name, tt := range map[string]struct {
		document  string
		variables object
		allowed   bool
	}{
		"@include of a root field":   {`query($a: Boolean = true) { __typename @include(if: $a) }`, object{"a": nil}, false},
		"@skip of a nested field":    {`query($a: Boolean = false) { cacheStats { success @skip(if: $a) } }`, object{"a": nil}, false},
		"@include of an inline":      {`query($a: Boolean = true) { ... @include(if: $a) { __typename } }`, object{"a": nil}, false},
		"@skip of a spread":          {`query($a: Boolean = true) { ...F @skip(if: $a) } fragment F on Query { __typename }`, object{"a": nil}, false},
		"within a fragment":          {`query($a: Boolean = true) { ...F } fragment F on Query { ...G } fragment G on Query { __typename @skip(if: $a) }`, object{"a": nil}, false},
		"of introspection":           {`query($a: Boolean = true) { __schema { queryType { name @include(if: $a) } } }`, object{"a": nil}, false},
		"of a mutation":              {`mutation($a: Boolean = true, $i: SubmitQuoteInput!) { submitQuote(input: $i) { success @include(if: $a) } }`, object{"a": nil, "i": lead}, false},
		"of a subscription":          {`subscription($a: Boolean = true) { leadEvents @include(if: $a) { position } }`, object{"a": nil}, false},
		"of another directive":       {`query Q($a: String = "q") @tool(name: $a, audience: VISITOR) { __typename }`, object{"a": nil}, false},
		"an argument":                {`query($a: String = "heroSection") { content(documentType: $a) { id } }`, object{"a": nil}, false},
		"an argument with a default": {`query($a: Locale) { content(documentType: "heroSection", locale: $a) { id } }`, object{"a": nil}, false},
		"null as the default":        {`query($a: Locale = null) { content(documentType: "heroSection", locale: $a) { id } }`, object{}, false},
		"an argument of __type":      {`query($a: String = "Query") { __type(name: $a) { name } }`, object{"a": nil}, false},
		"a field of an input":        {`mutation($a: String = "s") { trackQuote(input: {sessionId: $a}) { success } }`, object{"a": nil}, false},
		"a field of an inner input": {`mutation($a: Float = 1, $c: String = "EUR") {
			trackQuote(input: {sessionId: "s", attribution: {source: "x"}, estimate: {min: $a, max: 2, currency: $c}}) { success } }`,
			object{"a": nil}, true}, // a hint may be null
		"an item of a list": {`query($a: String = "blog") { estimateQuote(selections: {projectType: "web-app", features: [$a]}) { min } }`,
			object{"a": nil}, false},
		"a second use": {`query($a: Boolean = true) { __type(name: "Query") { fields(includeDeprecated: $a) { name } } __typename @skip(if: $a) }`,
			object{"a": nil}, false},

		"not sent":             {`query($a: Boolean = true) { __typename @include(if: $a) }`, object{}, true},
		"sent":                 {`query($a: Boolean = true) { __typename @include(if: $a) }`, object{"a": false}, true},
		"where null may stand": {`query($a: Boolean = true) { __type(name: "Query") { fields(includeDeprecated: $a) { name } } }`, object{"a": nil}, true},
		"a list that may be null": {`query($a: [String!] = ["blog"]) { estimateQuote(selections: {projectType: "web-app", features: $a}) { min } }`,
			object{"a": nil}, true},
	} {
		body, _ := json.Marshal(object{"query": tt.document, "variables": tt.variables})
		variables, _ := json.Marshal(tt.variables)
		get := "/graphql?" + url.Values{"query": {tt.document}, "variables": {string(variables)}}.Encode()
		const accept = "Accept: application/graphql-response+json, text/event-stream"

		responses := []apptest.Response{s.Do("POST", "/graphql", string(body), accept, asOperator)}
		if strings.HasPrefix(tt.document, "query") {
			responses = append(responses, s.Do("GET", get, "", accept))
		}
		for _, got := range responses {
			refused := got.Status == 400 && got.Has(`"BAD_USER_INPUT"`) &&
				!got.Has(`"data"`)
			if refused == tt.allowed || tt.allowed && (got.Status != 200 || got.Has(`"errors"`)) {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	if n := s.StoredLeads(); n != 0 {
		t.Errorf("%d leads of refused requests are stored", n)
	}
	if s.Log.Has(`"level":"error"`) {
		t.Errorf("errors are logged: %.2000s", s.Log)
	}
}

// JSON has one kind of number: a client may print a whole one with a fraction or an exponent.
// GraphQL's own literals have two.
func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "ADMIN_PAGE=on")
	const document = `query($n: Int) { leads(first: $n) { pageInfo { hasNextPage } } }`

	for number, whole := range map[string]bool{
		"5": true, "5.0": true, "5e0": true, "50e-1": true, "0.5e1": true, "5.000": true, "5E+1": true,
		"5.5": false, "0.0": false, "-5.0": false, "1e3": false, "1e400": false, "5e-1": false, `"5.0"`: false,
	} {
		variables := `{"n":` + number + `}`
		get := "/graphql?" + url.Values{"query": {document}, "variables": {variables}}.Encode()
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"leads","arguments":{"first":` + number + `}}}`
		for endpoint, got := range map[string]apptest.Response{
			"POST": s.Do("POST", "/graphql", `{"query":"`+document+`","variables":`+variables+`}`, asOperator),
			"GET":  s.Do("GET", get, "", asOperator),
			"MCP":  s.Do("POST", "/mcp", call, asOperator, "Accept: application/json, text/event-stream"),
		} {
			if accepted := !got.Has("BAD_USER_INPUT"); accepted != whole || got.Status >= 500 {
				t.Errorf("%s by %s: %s", number, endpoint, got)
			}
		}
	}
	if got := s.Query(`{ leads(first: 5.0) { pageInfo { hasNextPage } } }`, nil, asOperator); !got.Has("BAD_USER_INPUT") {
		t.Errorf("a literal: %s", got.Body)
	}
}

// A byte order mark is ignored before JSON and before a document, as both specifications allow.
func TestByteOrderMarks(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	for body, want := range map[string]string{
		"\ufeff" + `{"query":"{ __typename }"}`:                       `{"data":{"__typename":"Query"}}`,
		"\ufeff" + `{"query":"\ufeff{ __typename }"}`:                 `{"data":{"__typename":"Query"}}`,
		"\ufeff\n" + `{"query":"{ __typename }","variables":{"a":1}}`: `{"data":{"__typename":"Query"}}`,
		"\ufeff\ufeff" + `{"query":"{ __typename }"}`:                 "unexpected character",
		"\ufeff": "empty",
	} {
		if got := s.Do("POST", "/graphql", body); !got.Has(want) {
			t.Errorf("%q: %s", body, got)
		}
	}
}
