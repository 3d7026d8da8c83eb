package rest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
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
		if err := os.WriteFile(golden, a.Description(), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(a.Description(), want) {
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

// The examples of the description are accepted as requests, and the responses have the
// form that it shows.
func TestExamplesWork(t *testing.T) {
	t.Parallel()

	srv, _ := newServer(t)
	a, _ := newAPI(t)

	for _, rt := range a.routes {
		target, body := rt.path+"?", ""
		for _, p := range rt.segments {
			target = strings.Replace(target, "{"+p.Name+"}", fmt.Sprint(rt.example(p.Name)), 1)
		}
		for _, p := range rt.params {
			if value, ok := rt.example(p.Name).(string); ok {
				target += p.Name + "=" + value + "&"
			}
		}

		if rt.body != nil {
			encoded, err := marshal(rt.bodyExample())
			if err != nil {
				t.Fatal(err)
			}
			body = string(encoded)
		}

		got := send(t, srv, rt.method, target, body, "Authorization", bearerHeader)
		if got.status != 200 || got.header.Get("Content-Length") != fmt.Sprint(len(got.body)) {
			t.Errorf("%s %s: %d %v %s (stub_test.go answers for its root field)",
				rt.method, target, got.status, got.header, got.body)
		}

		if rt.produces != "" {
			continue
		}

		if got.header.Get("Content-Type") != "application/json; charset=utf-8" ||
			got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %v", rt.method, target, got.header)
		}

		shown, err := marshal(literal(rt.Rest.Arguments.ForName("answerExample").Value))
		if err != nil || members(t, shown) != members(t, []byte(got.body)) {
			t.Errorf("%s %s: answerExample of %s has other members than the answer of stub_test.go: %s and %s",
				rt.method, target, rt.OperationDefinition.Position.Src.Name, shown, got.body)
		}
	}
}

// members lists the names in a JSON object and in the objects it contains, and of a list
// those of its first element. It returns nothing for another value.
func members(t *testing.T, data []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}

	var list func(value any) string
	list = func(value any) string {
		if elements, ok := value.([]any); ok {
			return "[" + list(append(elements, nil)[0]) + "]"
		}
		object, _ := value.(map[string]any)
		var names []string

		for name, below := range object {
			names = append(names, name+"("+list(below)+")")
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}

	return list(value)
}

// TestREADME checks that the manual names every route with its guard, and every code.
func TestREADME(t *testing.T) {
	t.Parallel()

	manual, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}

	a, _ := newAPI(t)
	for _, rt := range a.routes {
		pattern := "(?m)^\\| `" + rt.method + " " + regexp.QuoteMeta(rt.path) + "[`?].*\\| (.*) \\|$"
		row := regexp.MustCompile(pattern).FindSubmatch(manual)
		if row == nil || rt.guarded() != strings.Contains(string(row[1]), "C") {
			t.Errorf("README.md has no row for %s %s, guarded: %v", rt.method, rt.path, rt.guarded())
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
