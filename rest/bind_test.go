package rest

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"siteapi/schema"
	"siteapi/schema/exec"
)

// A segment {name} of a path is the value of a variable, which the executor checks. A path
// without variables is preferred.
func TestPathParameters(t *testing.T) {
	t.Parallel()
	stub := newStub(t)
	a, err := New(loaded(t, exec.AST(), map[string]string{
		"pdf": `"x" query Pdf($id: ID!, $locale: Locale!) ` +
			`@rest(method: GET, path: "/api/quote/{locale}/{id}", answer: DOWNLOAD, ` +
			`produces: "application/pdf", example: {id: "a", locale: "ro"}) ` +
			`{ quotePdf(id: $id, locale: $locale) { fileName contentType size etag locale } }`,
		"stats": `"x" query Stats @rest(method: GET, path: "/api/quote/en/stats", ` +
			`answerExample: {}) { cacheStats { success } }`,
	}), stub, "")
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		path   string
		status int
		wrong  string // the first error
	}{
		{"/api/quote/en/stats", 200, ""},
		{"/api/quote/ro/abc", 200, ""},
		{"/api/quote/es/a%20b", 200, ""},
		{"/api/quote/RO/abc", 400, "locale not_allowed"},
		{"/api/quote/ro/%FF", 400, "id unreadable"},
		{"/api/quote/ro/" + strings.Repeat("x", 129), 400, "id too_long"},
		{"/api/quote/ro/", 404, ""},
		{"/api/quote/ro", 404, ""},
		{"/api/quote/ro/a/b", 404, ""},
		{"/api/quote/ro/a%2Fb", 404, ""},
	} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, withCaller(httptest.NewRequest("GET", c.path, nil)))
		got := answer{w.Code, w.Header(), w.Body.String()}

		wrong := ""
		if got.status == 400 {
			if p := got.problem(t); len(p.Errors) > 0 {
				wrong = p.Errors[0].Field + " " + string(p.Errors[0].Code)
			}
		}
		if got.status != c.status || wrong != c.wrong {
			t.Errorf("%s: %d %q, want %d %q", c.path, got.status, wrong, c.status, c.wrong)
		}
	}

	if id := fmt.Sprint(stub.args[0]); id != "a b" {
		t.Errorf("the last id is %q", id)
	}
	if a.Pattern("/api/quote/ro/abc") != "/api/quote/{locale}/{id}" || a.Pattern("/api/quote") != "" {
		t.Error("a log could hold the values of a path")
	}
	if !strings.Contains(string(a.Description()), `"/api/quote/{locale}/{id}"`) ||
		strings.Count(string(a.Description()), `"in": "path"`) != 2 {
		t.Errorf("the description lacks the path: %s", a.Description())
	}
}

func TestQueryParameters(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		query string
		want  string // the resolver's arguments, or empty if the request is refused
		wrong string // the first error
	}{
		{"?all=true", "true -", ""},
		{"?all=False&pattern=a*", "false a*", ""},
		{"?pattern=a%2Ab", "- a*b", ""},
		{"?other=1&other=2&pattern=x", "- x", ""},
		{"", "- -", ""},
		{"?all=1", "", "all wrong_type"},
		{"?all=", "", "all wrong_type"},
		{"?pattern=", "", "pattern empty"},
		{"?all=true&all=false", "", "all repeated"},
		{"?pattern=a&pattern=", "", "pattern repeated"},
		{"?pattern=%00", "", "pattern control_characters"},
		{"?pattern=%ff", "", "pattern unreadable"},
		{"?pattern=%", "", ""},
		{"?all=true;pattern=x", "", ""},
	} {
		srv, stub := newServer(t)
		got := send(t, srv, "POST", "/api/cache/clear"+c.query, "", "Authorization", bearerHeader)

		if c.want == "" {
			p := got.problem(t)
			if got.status != 400 || stub.ran() != 0 {
				t.Errorf("%s: got %d, %d operations ran", c.query, got.status, stub.ran())
			}

			if c.wrong != "" &&
				(len(p.Errors) == 0 || p.Errors[0].Field+" "+string(p.Errors[0].Code) != c.wrong) {
				t.Errorf("%s: errors %v, want %s", c.query, p.Errors, c.wrong)
			}
			continue
		}

		all, pattern := "-", "-"
		if got.status == 200 && stub.args[0].(*bool) != nil {
			all = fmt.Sprint(*stub.args[0].(*bool))
		}
		if got.status == 200 && stub.args[1].(*string) != nil {
			pattern = *stub.args[1].(*string)
		}

		if all+" "+pattern != c.want {
			t.Errorf("%s: %d, the resolver got %s %s, want %s", c.query, got.status, all, pattern, c.want)
		}
	}
}

// No route of the service has numbers in its query string yet, but the next one may.
func TestParametersOfEveryType(t *testing.T) {
	t.Parallel()

	s := testSchema(t, `
		type Query { find(n: Int, f: Float, s: String, id: ID, b: Boolean, e: Kind): String! }
		enum Kind { a b }`)
	routes, _, err := compile(loaded(t, s, map[string]string{"find": `"Finds."
		query Find($n: Int, $f: Float, $s: String, $id: ID, $b: Boolean, $e: Kind)
		@rest(method: GET, path: "/api/find", query: ["n", "f", "s", "id", "b", "e"], example: {n: 1}, answerExample: "x") {
			find(n: $n, f: $f, s: $s, id: $id, b: $b, e: $e)
		}`}))
	if err != nil {
		t.Fatal(err)
	}

	for query, want := range map[string]string{
		"n=7&f=7&s=7&id=7&b=true&e=a": `map[b:true e:a f:7 id:7 n:7 s:7]`,
		"n=-9007199254740993":         `map[n:-9007199254740993]`,
		"n=1.5&f=1e3":                 `map[f:1e3 n:1.5]`,
		"f=NaN":                       `map[f:NaN]`,
		"f=0x10":                      `map[f:0x10]`,
		"n=&f=&s=&id=&e=":             `map[s:]`,
	} {
		got := map[string]any{}
		if problem := routes[0].bindQuery(
			httptest.NewRequest("GET", "/api/find?"+query, nil), got,
		); problem != nil {
			t.Errorf("%s: %v", query, problem)
		}

		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}

		if _, isText := got["f"].(string); isText != (query == "f=NaN" || query == "f=0x10") {
			t.Errorf("%s: f is a %T", query, got["f"])
		}
	}
}

// Errors use the names that the client sent, even if variables and arguments have other
// names.
func TestErrorsNameWhatWasSent(t *testing.T) {
	t.Parallel()

	s := testSchema(t, `
		type Query { find(id: ID!, kinds: In): String! }
		input In { size: In, n: Int }`)
	routes, _, err := compile(loaded(t, s, map[string]string{
		"a": `"x" query A($quote: ID!, $filter: In) @rest(method: POST, path: "/api/a", query:
			["quote"], body: "filter",
			example: {quote: 1}, answerExample: "x") { find(id: $quote, kinds: $filter) }`,
	}))
	if err != nil {
		t.Fatal(err)
	}

	op := routes[0]
	fields, _ := schema.NewInputChecker(s).Check(op.OperationDefinition, map[string]any{
		"filter": map[string]any{"n": "x", "size": map[string]any{"n": "y"}},
	}, false)
	fields = append(fields, schema.Required("kinds"), schema.Required("other"))

	var got []string
	for _, f := range op.sentNames(fields) {
		got = append(got, f.Field)
	}
	if strings.Join(got, " ") != "quote size.n n body other" {
		t.Errorf("got %v", got)
	}
}
