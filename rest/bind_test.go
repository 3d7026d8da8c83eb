package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A segment {name} of a path is the value of a variable.
func TestPathParameters(t *testing.T) {
	t.Parallel()
	paths, err := compile(loaded(t, map[string]string{
		"pdf": `"x" query Pdf($id: ID!, $locale: Locale!) ` +
			`@rest(method: GET, path: "/api/quote/{locale}/{id}", ` +
			`produces: "application/pdf", example: {id: "a", locale: "ro"}) ` +
			`{ quotePdf(id: $id, locale: $locale) { fileName } }`,
	}))
	must(t, err)

	var got string
	mux := http.NewServeMux()
	mux.HandleFunc(paths[0].Path, func(_ http.ResponseWriter, r *http.Request) {
		vars := map[string]any{}
		problem := paths[0].Routes[0].bindParameters(r, vars)
		got = fmt.Sprint(vars)
		if problem != nil {
			got = fmt.Sprint(problem.Fields[0].Field, " ", problem.Fields[0].Code)
		}
	})
	for path, want := range map[string]string{
		"/api/quote/es/a%20b?id=other": "map[id:a b locale:es]",
		"/api/quote/ro/%FF":            "id unreadable",
	} {
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}

	text, err := describe(paths, "")
	if err != nil || strings.Count(string(text), `"in": "path"`) != 2 {
		t.Errorf("the description lacks the variables: %v %s", err, text)
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
