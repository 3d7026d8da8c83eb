package rest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"siteapi/schema"
	"siteapi/schema/operations"
)

var update = flag.Bool("update", false, "write the golden files anew")

const golden = "testdata/openapi.json"

// The golden file is the one that the public linter reads in CI.
func TestDescriptionIsTheGoldenFile(t *testing.T) {
	t.Parallel()

	list, err := operations.All()
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(list, newStub(t), "")
	if err != nil {
		t.Fatal(err)
	}

	if *update {
		if err := os.WriteFile(golden, a.openapi, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(a.openapi, want) {
		t.Errorf("the description differs from %s: look at the difference after go test ./rest -update",
			golden)
	}
}

func TestDescriptionIsServed(t *testing.T) {
	t.Parallel()
	srv, _ := newServer(t)

	got := send(t, srv, "GET", DescriptionPath, "")
	etag := got.header.Get("ETag")
	if got.status != 200 || etag == "" || !json.Valid([]byte(got.body)) {
		t.Errorf("got %d %v", got.status, got.header)
	}

	if !strings.Contains(got.body, `"version": "1.2.3"`) {
		t.Error("the version is missing")
	}

	got = send(t, srv, "GET", DescriptionPath, "", "If-None-Match", etag)
	if got.status != 304 || got.body != "" {
		t.Errorf("got %d and %d bytes for the entity tag", got.status, len(got.body))
	}
}

// The examples of requests in the description are accepted. Those of answers are compared with
// their schemas by the linter.
func TestExamplesWork(t *testing.T) {
	t.Parallel()

	srv, _ := newServer(t)
	a, _ := newAPI(t)

	for _, rt := range a.routes() {
		target, body := rt.Path+"?", ""
		for _, p := range rt.query {
			if value := rt.example(p.Name); value != nil {
				target += p.Name + "=" + value.Raw + "&"
			}
		}
		if rt.Body != nil {
			body = literal(rt.BodyExample())
		}

		got := send(t, srv, rt.Method, target, body, "Authorization", bearerHeader)
		if got.status != 200 || got.header.Get("Content-Length") != fmt.Sprint(len(got.body)) {
			t.Errorf("%s %s: %d %v %s (stub_test.go answers for its root field)",
				rt.Method, target, got.status, got.header, got.body)
		}

		if rt.Produces == "" && (got.header.Get("Content-Type") != "application/json; charset=utf-8" ||
			got.header.Get("Cache-Control") != "no-store") {
			t.Errorf("%s %s: %v", rt.Method, target, got.header)
		}
	}
}

// routes lists the routes of all paths.
func (a *API) routes() (list []*Route) {
	for _, path := range a.Paths {
		list = append(list, path.Routes...)
	}
	return list
}

// TestREADME checks that the manual names every route with its guard, and every code.
func TestREADME(t *testing.T) {
	t.Parallel()

	manual, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}

	a, _ := newAPI(t)
	for _, rt := range a.routes() {
		pattern := "(?m)^\\| `" + rt.Method + " " + regexp.QuoteMeta(rt.Path) + "[`?].*\\| (.*) \\|$"
		row := regexp.MustCompile(pattern).FindSubmatch(manual)
		if row == nil || rt.Guarded() != strings.Contains(string(row[1]), "C") {
			t.Errorf("README.md has no row for %s %s, guarded: %v", rt.Method, rt.Path, rt.Guarded())
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
