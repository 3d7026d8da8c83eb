package rest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"siteapi/schema"
	"siteapi/schema/operations"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const golden = "testdata/openapi.json"

// described returns the API of the service's own documents, without an executor to run them.
func described(t *testing.T) *API {
	t.Helper()
	list, err := operations.All()
	must(t, err)
	a, err := New(list, nil, "")
	must(t, err)
	return a
}

// The golden file is also the input of the OpenAPI linter in CI.
func TestDescriptionIsTheGoldenFile(t *testing.T) {
	t.Parallel()
	a := described(t)
	if *update {
		must(t, os.WriteFile(golden, a.openapi, 0o644))
	}
	if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(a.openapi, want) {
		t.Errorf("the description differs from %s: run go test ./rest -update and review the changes (%v)",
			golden, err)
	}
}

// TestREADME checks that the manual names every route with its guard, and every code.
func TestREADME(t *testing.T) {
	t.Parallel()

	manual, err := os.ReadFile("README.md")
	must(t, err)

	var routes []*Route
	for _, path := range described(t).Paths {
		routes = append(routes, path.Routes...)
	}
	for _, rt := range routes {
		pattern := "(?m)^\\| `" + rt.Method + " " + regexp.QuoteMeta(rt.Path) + "[`?].*\\| (.*) \\|$"
		row := regexp.MustCompile(pattern).FindSubmatch(manual)
		if row == nil || (rt.Token() != "") != strings.Contains(string(row[1]), "C") {
			t.Errorf("README.md has no row for %s %s, token: %q", rt.Method, rt.Path, rt.Token())
		}
	}

	for _, code := range schema.Codes() {
		if row := fmt.Sprintf("| `%s` | %d |", code, code.Status()); !strings.Contains(string(manual), row) {
			t.Errorf("README.md has no row %s", row)
		}
	}

	for _, code := range schema.AllFieldCode {
		if !strings.Contains(string(manual), "\n| `"+string(code)+"` |") {
			t.Errorf("README.md has no row for the field code %s", code)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
