package rest

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"siteapi/schema"
)

var update = flag.Bool("update", false, "write the golden files anew")

const golden = "testdata/openapi.json"

// The golden file is what the public linter reads in CI.
func TestDescriptionIsTheGoldenFile(t *testing.T) {
	t.Parallel()
	a, err := New(newStub(t), schema.AST(), Options{})
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
		t.Errorf("the description differs from %s: look at the difference after go test ./rest -update", golden)
	}
	again, err := New(newStub(t), schema.AST(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Description(), again.Description()) {
		t.Error("the same documents give other bytes")
	}
}

func TestDescriptionIsServed(t *testing.T) {
	t.Parallel()
	srv, _ := newServer(t)
	got := send(t, srv, "GET", DescriptionPath, "")
	etag := got.header.Get("ETag")
	if got.status != 200 || got.header.Get("Content-Type") != "application/json" || etag == "" || !json.Valid([]byte(got.body)) {
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

func TestDescribedStatuses(t *testing.T) {
	t.Parallel()
	doc := description(t)
	always := "429 500 503 default"
	for route, want := range map[string]string{
		"/api/cache/clear get":       "200",
		"/api/cache/clear post":      "200 400 401",
		"/api/cache/invalidate post": "200 400 401 413 415",
		"/api/webhooks/cms post":     "200 400 401 413 415",
		"/api/quote/track post":      "200 400 413 415",
		"/api/quote/submit post":     "200 400 413 415",
		"/api/quote/pdf get":         "200 304 400 404",
	} {
		path, method, _ := strings.Cut(route, " ")
		statuses, _ := at(doc, "paths", path, method, "responses").(tree)
		if got := strings.Join(slices.Sorted(maps.Keys(statuses)), " "); got != want+" "+always {
			t.Errorf("%s: got %s, want %s %s", route, got, want, always)
		}
	}
	for response, header := range map[string]string{
		"Unauthenticated": "WWW-Authenticate", "RateLimited": "Retry-After", "UpstreamUnavailable": "Retry-After", "Problem": "Allow",
	} {
		if at(doc, "components", "responses", response, "headers", header) == nil {
			t.Errorf("%s has no %s", response, header)
		}
	}
	if at(doc, "paths", "/api/quote/pdf", "get", "responses", "200", "content", "application/pdf", "schema", "format") != "binary" {
		t.Error("the PDF is not described")
	}
}

func TestDescribedConstraints(t *testing.T) {
	t.Parallel()
	doc := description(t)
	property := func(path ...string) string {
		encoded, err := json.Marshal(at(doc, append([]string{"components", "schemas"}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	cases := []struct {
		path []string
		want []string
	}{
		{[]string{"QuoteContactInput"}, []string{`"required":["firstName","lastName","email"]`}},
		{[]string{"QuoteContactInput", "properties", "firstName"}, []string{`"minLength":1`, `"maxLength":100`, `"type":"string"`}},
		{[]string{"QuoteContactInput", "properties", "email"}, []string{`"format":"email"`, `"maxLength":254`}},
		{[]string{"QuoteContactInput", "properties", "phone"}, []string{`"type":["string","null"]`, `"maxLength":32`}},
		{[]string{"QuoteEstimateInput", "properties", "min"}, []string{`"minimum":0`, `"maximum":1000000000`, "May not be above `max`."}},
		{[]string{"QuoteEstimateInput", "properties", "currency"}, []string{`"pattern":"^[A-Z]{3}$"`}},
		{[]string{"QuoteSelectionsInput", "properties", "features"}, []string{`"type":["array","null"]`, `"maxLength":64`, "At most 50 different items"}},
		{[]string{"SubmitQuoteInput", "properties", "locale"}, []string{`"anyOf":[{"$ref":"#/components/schemas/Locale"},{"type":"null"}]`}},
		{[]string{"Locale"}, []string{`"enum":["en","es","ro"]`, "- `ro`: Romanian."}},
		{[]string{"SubmitQuotePayload"}, []string{`"required":["success","submissionId","pdfUrl"]`}},
	}
	for _, c := range cases {
		got := property(c.path...)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %s is not in %s", c.path, want, got)
			}
		}
	}
	payload, err := json.Marshal(at(doc, "paths", "/api/webhooks/cms", "post", "requestBody"))
	if err != nil || !strings.Contains(string(payload), `"minProperties":1`) || !strings.Contains(string(payload), "1048576 bytes") {
		t.Errorf("webhook: %s", payload)
	}
}

// What the description shows as an example is accepted when it is sent.
func TestExamplesWork(t *testing.T) {
	t.Parallel()
	srv, _ := newServer(t)
	a, _ := newAPI(t)
	for _, rt := range a.routes {
		target, body := rt.path+"?", ""
		for _, p := range rt.params {
			if value, ok := rt.exampleOf(p.name).(string); ok {
				target += p.name + "=" + value + "&"
			}
		}
		if rt.body != nil {
			encoded, err := marshal(rt.exampleOf(rt.body.variable))
			if err != nil {
				t.Fatal(err)
			}
			body = string(encoded)
		}
		if got := send(t, srv, rt.method, target, body, "Authorization", bearerHeader); got.status != 200 {
			t.Errorf("%s %s: %d %s", rt.method, target, got.status, got.body)
		}
	}
}

// Forms that no route of the service has yet.
func TestDescribingOtherForms(t *testing.T) {
	t.Parallel()
	s := testSchema(t, `
		type Query { list(n: [Int!], at: DateTime): [Node] one: Node! }
		scalar DateTime
		type Mutation { put(in: In!, many: [In!]): Node! }
		input In { self: In, f: Float = 1.5, b: Boolean!, days: [DateTime!], o: Int = null }
		"A node." type Node { id: ID! when: DateTime raw: Base64 any: JSON next: Node n: Int! f: Float! }`)
	routes, err := compile(s, fstest.MapFS{
		"a.graphql": {Data: []byte(`"x" query A($at: DateTime) @rest(method: POST, path: "/api/x/a", body: "at", example: {at: "now"}) { list(at: $at) { id when raw any n f __typename } }`)},
		"b.graphql": {Data: []byte(`"x" query B @rest(method: GET, path: "/api/x/b") { one { ...F ... on Node { next { id } } } } fragment F on Node { id }`)},
		"c.graphql": {Data: []byte(`"x" mutation C($in: In!) @rest(method: POST, path: "/api/x/c", body: "in", example: {in: {b: true, self: null}}) { put(in: $in) { alias: id } }`)},
		"d.graphql": {Data: []byte(`"x" mutation D($in: In!) @rest(method: POST, path: "/api/x/d", body: "in", example: {in: {b: false, f: 2}}) { put(in: {b: true}, many: [$in]) { id } }`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := describe(s, routes, "")
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, d.body); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"version":"0.0.0"`,
		`"type":"array","items":{"anyOf":[{"$ref":"#/components/schemas/Node"},{"type":"null"}]}`,
		`"when":{"type":["string","null"],"format":"date-time"}`,
		`"raw":{"type":["string","null"],"contentEncoding":"base64"}`,
		`"n":{"type":"integer","format":"int32"},"f":{"type":"number"}`,
		`"any":{}`,
		`"f":{"type":["number","null"],"default":1.5}`,
		`"o":{"type":["integer","null"],"format":"int32","default":null}`,
		`"self":{"anyOf":[{"$ref":"#/components/schemas/In"},{"type":"null"}]}`,
		`"days":{"type":["array","null"],"items":{"type":"string","format":"date-time"}}`,
		`"BNode":{"type":"object","description":"A node.","required":["id"]`,
		`"BNode2":{"type":"object","description":"A node.","required":["id","next"]`,
		`"next":{"anyOf":[{"$ref":"#/components/schemas/BNode"},{"type":"null"}]}`,
		`"CNode":{"type":"object","description":"A node.","required":["alias"]`,
		`"example":{"b":true,"self":null}`,
	} {
		if !strings.Contains(compact.String(), want) {
			t.Errorf("%s is not in\n%s", want, compact.String())
		}
	}
}
