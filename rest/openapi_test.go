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

// tree is any JSON object.
type tree = map[string]any

func description(t *testing.T) tree {
	t.Helper()
	a, _ := newAPI(t)
	var doc tree
	if err := json.Unmarshal(a.Description(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func at(v any, path ...string) any {
	for _, name := range path {
		object, _ := v.(tree)
		v = object[name]
	}
	return v
}

func TestEveryReferenceLeadsSomewhere(t *testing.T) {
	t.Parallel()

	doc := description(t)

	used := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case tree:
			if ref, ok := v["$ref"].(string); ok {
				used[ref] = true
				if at(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...) == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}

			for _, child := range v {
				walk(child)
			}
		case []any:
			for _, child := range v {
				walk(child)
			}
		}
	}

	walk(doc)

	for _, kind := range []string{"schemas", "responses", "headers"} {
		for name := range at(doc, "components", kind).(tree) {
			if !used["#/components/"+kind+"/"+name] {
				t.Errorf("nothing refers to %s %s", kind, name)
			}
		}
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
		object, _ := value.(tree)
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

func TestEveryTagIsDescribed(t *testing.T) {
	t.Parallel()

	unused := tagTexts()

	tags, _ := at(description(t), "tags").([]any)
	for _, tag := range tags {
		name, _ := at(tag, "name").(string)
		if unused[name] == "" {
			t.Errorf("the tag %s is not described: add it to tagTexts in openapi.go", name)
		}
		delete(unused, name)
	}

	for name := range unused {
		t.Errorf("no route has the tag %s: remove it from tagTexts in openapi.go", name)
	}
}

// The test covers forms that no route of the service has yet.
func TestDescribingOtherForms(t *testing.T) {
	t.Parallel()

	s := testSchema(t, `
		type Query { list(n: [Int!], at: DateTime): [Node] one: Node! }
		scalar DateTime
		type Mutation { put(in: In!): Node! }
		input In { self: In, f: Float = 1.5, b: Boolean!, days: [DateTime!], o: Int = null }
		"A node." type Node { id: ID! when: DateTime raw: Base64 any: JSON next: Node n: Int! f: Float! }`)

	routes, _, err := compile(loaded(t, s, map[string]string{
		"a": `"x" query A($at: DateTime) ` +
			`@rest(method: POST, path: "/api/x/a", body: "at", example: {at: "now"},
			answerExample: []) { list(at: $at) { id when raw any n f } }`,
		"b": `"x" query B @rest(method: GET, path: "/api/x/b", answerExample: {}) {
			one { ...F ... on Node { next { id } } } } fragment F on Node { id }`,
		"c": `"x" mutation C($in: In!) @rest(method: POST, path: "/api/x/c", body: "in",
			example: {in: {b: true, self: null}}, answerExample: {}) { put(in: $in) { alias: id } }`,
	}))
	if err != nil {
		t.Fatal(err)
	}

	description, err := describe(s, routes, "")
	if err != nil {
		t.Fatal(err)
	}

	var compact bytes.Buffer
	if err := json.Compact(&compact, description); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		`"version":"0.0.0"`,
		`"type":"array","items":{"anyOf":[{"$ref":"#/components/schemas/Node"},{"type":"null"}]}`,
		`"when":{"type":["string","null"],"format":"date-time"}`,
		`"raw":{"type":["string","null"],"contentEncoding":"base64"}`,
		`"n":{"type":"integer","format":"int32"},"f":{"type":"number"}`,
		`"any":true`,
		`"f":{"type":["number","null"],"default":1.5}`,
		`"o":{"type":["integer","null"],"default":null,"format":"int32"}`,
		`"self":{"anyOf":[{"$ref":"#/components/schemas/In"},{"type":"null"}]}`,
		`"days":{"type":["array","null"],"items":{"type":"string","format":"date-time"}}`,
		`"BNode":{"type":"object","properties":{"id":{"type":"string"}},"description":"A node.","required":["id"]`,
		`"required":["id","next"]`,
		`"CNode":{"type":"object","properties":{"alias":`,
		`"example":{"b":true,"self":null}`,
	} {
		if !strings.Contains(compact.String(), want) {
			t.Errorf("%s is not in the description", want)
		}
	}
}
