package rest

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"siteapi/schema/exec"
)

// A segment {name} of a path is the value of a variable, which the executor checks. A path
// without variables is preferred.
func TestPathParameters(t *testing.T) {
	t.Parallel()
	stub := newStub(t)
	a, err := New(loaded(t, exec.AST(), map[string]string{
		"pdf": `"x" query Pdf($id: ID!, $locale: Locale!) ` +
			`@rest(method: GET, path: "/api/quote/{locale}/{id}", ` +
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
	if strings.Count(string(a.openapi), `"in": "path"`) != 2 {
		t.Errorf("the description lacks the variables: %s", a.openapi)
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
func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typ, text string
		want      any
	}{
		{"Int", "-9007199254740993", json.Number("-9007199254740993")},
		{"Float", "1e3", json.Number("1e3")},
		{"Float", "NaN", "NaN"},
		{"Float", "0x10", "0x10"},
		{"ID", "7", "7"},
	} {
		if got := convert(tt.typ, tt.text); got != tt.want {
			t.Errorf("%s %s: got %v", tt.typ, tt.text, got)
		}
	}
}
