package rest

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// testSchema is the real directives with other types.
func testSchema(tb testing.TB, sdl string) *ast.Schema {
	tb.Helper()
	directives, err := os.ReadFile("../schema/directives.graphqls")
	if err != nil {
		tb.Fatal(err)
	}
	s, err := gqlparser.LoadSchema(
		&ast.Source{Name: "directives.graphqls", Input: string(directives)},
		&ast.Source{Name: "test.graphqls", Input: "scalar JSON scalar Base64 enum Locale { en }\n" + sdl},
	)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

const compileSDL = `
type Query {
  thing(id: ID!, kinds: [Kind!]): Thing!
  file(id: ID): File
  half(id: ID): Half!
  text: String!
}
type Mutation { change(input: ThingInput!): Thing! keep(any: JSON!): Thing! }
type Thing { id: ID! self: Thing }
type File { fileName: String! contentType: String! content: Base64! etag: String! locale: Kind }
type Half { fileName: String contentType: String! content: String! }
input ThingInput { id: ID!, inner: ThingInput, n: Int }
enum Kind { a b }
`

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	const ok = "\"Reads.\"\nquery Ok($id: ID!) @rest(method: GET, path: \"/api/ok\", query: [\"id\"], example: {id: 1}) { thing(id: $id) { id } }"
	cases := []struct {
		name string
		docs map[string]string
		want []string // each: how a line of the error begins, and a part of it after a |
	}{
		{"nothing", map[string]string{}, []string{"*.graphql: |there is no operation document"}},
		{"syntax", map[string]string{"a": "query A {\n  thing(id: 1) { id }"}, []string{"a.graphql:2:22: |Expected Name"}},
		{"fragment only", map[string]string{"a": "fragment F on Thing { id }"}, []string{"a.graphql:1:1: |never used"}},
		{"empty", map[string]string{"a": "# nothing yet"}, []string{"a.graphql: |there is no operation"}},
		{
			"unknown fields, all of them", map[string]string{"a": "query A @rest(method: GET, path: \"/api/a\") {\n  thing(id: 1) { nope }\n  other\n}"},
			[]string{"a.graphql:2:18: |Cannot query field \"nope\" on type \"Thing\"", "a.graphql:3:3: |Cannot query field \"other\""},
		},
		{"two operations", map[string]string{"a": ok + "\nquery B { text }"}, []string{"a.graphql:3:1: |more than one operation"}},
		{"no directive", map[string]string{"a": "\"x\" query A { text }"}, []string{"a.graphql:1:5: |the operation has no @rest"}},
		{"no method", map[string]string{"a": `"x" query A @rest(path: "/api/a") { text }`}, []string{"a.graphql:1:14: |\"method\" of type \"RestMethod!\" is required"}},
		{"directive twice", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a") @rest(method: GET, path: "/api/b") { text }`}, []string{"a.graphql:1:49: |can only be used once"}},
		{
			"no name, no description", map[string]string{"a": `query @rest(method: GET, path: "/api/a") { text }`},
			[]string{"a.graphql:1:1: |the operation has no name", "a.graphql:1:1: |the operation has no description"},
		},
		{"two root fields", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a") { text again: text }`}, []string{"a.graphql:1:5: |2 root fields: select exactly one"}},
		{"fragment at the root", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a") { ... { text } }`}, []string{"a.graphql:1:54: |select the root field itself"}},
		{"introspection", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a") { __schema { description } }`}, []string{"a.graphql:1:50: |__schema describes the schema"}},
		{"skipped root", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a") { text @skip(if: false) }`}, []string{"a.graphql:1:56: |@skip could leave the root field out"}},
		{"variable in the directive", map[string]string{"a": `"x" query A($p: String!) @rest(method: GET, path: $p) { text }`}, []string{"a.graphql:1:51: |@rest(path) uses a variable"}},
		{"variable deep in the directive", map[string]string{"a": `"x" query A($p: String!) @rest(method: GET, path: "/api/a", query: [$p]) { text }`}, []string{"a.graphql:1:69: |@rest(query) uses a variable"}},
		{"path elsewhere", map[string]string{"a": `"x" query A @rest(method: GET, path: "/a") { text }`}, []string{"a.graphql:1:32: |does not begin with /api/"}},
		{"path of the description", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/openapi.json") { text }`}, []string{"a.graphql:1:32: |belongs to the OpenAPI description"}},
		{"slash at the end", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a/") { text }`}, []string{"a.graphql:1:32: |not in plain form"}},
		{"dots", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/../a") { text }`}, []string{"a.graphql:1:32: |not in plain form"}},
		{"only the prefix", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/") { text }`}, []string{"a.graphql:1:32: |not in plain form"}},
		{"escapes", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a%20b") { text }`}, []string{"a.graphql:1:32: |not in plain form"}},
		{"template", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/{id}") { text }`}, []string{"a.graphql:1:32: |not in plain form"}},
		{"mutation by GET", map[string]string{"a": `"x" mutation A @rest(method: GET, path: "/api/a") { keep(any: 1) { id } }`}, []string{"a.graphql:1:22: |GET has to be safe"}},
		{
			"same route twice", map[string]string{"a": ok, "b": strings.Replace(ok, "Ok", "Other", 1)},
			[]string{"b.graphql:2:24: |GET /api/ok is served by a.graphql already"},
		},
		{
			"same name twice", map[string]string{"a": ok, "b": strings.Replace(ok, "/ok", "/other", 1)},
			[]string{"b.graphql:2:1: |the operation Ok exists in a.graphql already"},
		},
		{"variable from nowhere", map[string]string{"a": `"x" query A($id: ID!) @rest(method: GET, path: "/api/a", example: {id: 1}) { thing(id: $id) { id } }`}, []string{"a.graphql:1:13: |$id comes from nowhere"}},
		{"unused variable", map[string]string{"a": `"x" query A($id: ID) @rest(method: GET, path: "/api/a", query: ["id"], example: {}) { text }`}, []string{"a.graphql:1:13: |never used"}},
		{"no such parameter", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a", query: ["id"]) { text }`}, []string{"a.graphql:1:48: |no variable $id"}},
		{"parameter twice", map[string]string{"a": strings.Replace(ok, `["id"]`, `["id", "id"]`, 1)}, []string{"a.graphql:2:56: |names \"id\" twice"}},
		{"list in the query string", map[string]string{"a": `"x" query A($k: [Kind!]) @rest(method: GET, path: "/api/a", query: ["k"], example: {}) { thing(id: 1, kinds: $k) { id } }`}, []string{"a.graphql:1:13: |a query string can't carry"}},
		{"object in the query string", map[string]string{"a": `"x" mutation A($i: ThingInput!) @rest(method: POST, path: "/api/a", query: ["i"], example: {i: {id: 1}}) { change(input: $i) { id } }`}, []string{"a.graphql:1:16: |a query string can't carry"}},
		{"no such body", map[string]string{"a": `"x" mutation A @rest(method: POST, path: "/api/a", body: "i") { keep(any: 1) { id } }`}, []string{"a.graphql:1:52: |no variable $i"}},
		{"body of a GET", map[string]string{"a": `"x" query A($id: ID!) @rest(method: GET, path: "/api/a", body: "id", example: {id: 1}) { thing(id: $id) { id } }`}, []string{"a.graphql:1:58: |a GET request has no body"}},
		{"scalar body", map[string]string{"a": `"x" query A($id: ID!) @rest(method: POST, path: "/api/a", body: "id", example: {id: 1}) { thing(id: $id) { id } }`}, []string{"a.graphql:1:13: |$id is a ID!, which is not a body"}},
		{
			"body and query", map[string]string{"a": `"x" query A($id: ID!) @rest(method: POST, path: "/api/a", query: ["id"], body: "id", example: {id: 1}) { thing(id: $id) { id } }`},
			[]string{"a.graphql:1:74: |can't come from the query string and from the body"},
		},
		{
			"body's arguments without a body", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a", accepts: ["a/b"], bodyLimit: 7) { text }`},
			[]string{"a.graphql:1:48: |@rest(accepts) is about a body", "a.graphql:1:66: |@rest(bodyLimit) is about a body"},
		},
		{
			"body's arguments", map[string]string{"a": `"x" mutation A($i: ThingInput!) @rest(method: POST, path: "/api/a", body: "i", bodyLimit: 0, accepts: ["json", "a/b; c=d"], example: {i: {id: 1}}) { change(input: $i) { id } }`},
			[]string{"a.graphql:1:80: |bodyLimit) is 0", "a.graphql:1:94: |\"json\" is not a media type", "a.graphql:1:94: |\"a/b; c=d\" is not a media type"},
		},
		{"no media type", map[string]string{"a": `"x" mutation A($i: ThingInput!) @rest(method: POST, path: "/api/a", body: "i", accepts: [], example: {i: {id: 1}}) { change(input: $i) { id } }`}, []string{"a.graphql:1:80: |accepts) is empty"}},
		{"download by POST", map[string]string{"a": `"x" query A @rest(method: POST, path: "/api/a", answer: DOWNLOAD, produces: "a/b") { file { fileName contentType content } }`}, []string{"a.graphql:1:49: |a download is read with GET"}},
		{"download without a type", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a", answer: DOWNLOAD) { file { fileName contentType content } }`}, []string{"a.graphql:1:14: |@rest(produces) belongs to a download"}},
		{"type without a download", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a", produces: "a/b") { text }`}, []string{"a.graphql:1:48: |@rest(produces) belongs to a download"}},
		{"download of a text", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a", answer: DOWNLOAD, produces: "a/b") { text }`}, []string{"a.graphql:1:85: |a download has to be an object"}},
		{
			"download without its fields", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a", answer: DOWNLOAD, produces: "a/b") { file { name: fileName } }`},
			[]string{"a.graphql:1:85: |needs the field fileName", "a.graphql:1:85: |needs the field contentType", "a.graphql:1:85: |needs the field content"},
		},
		{
			"download with other fields", map[string]string{"a": `"x" query A @rest(method: GET, path: "/api/a", answer: DOWNLOAD, produces: "a/b") { half { fileName contentType content } }`},
			[]string{"a.graphql:1:92: |fileName is a String, but a download needs a String!", "a.graphql:1:113: |content is a String!, but a download needs a Base64!"},
		},
		{"no example", map[string]string{"a": `"x" query A($id: ID!) @rest(method: GET, path: "/api/a", query: ["id"]) { thing(id: $id) { id } }`}, []string{"a.graphql:1:24: |no example"}},
		{"example is no object", map[string]string{"a": strings.Replace(ok, "{id: 1}", "7", 1)}, []string{"a.graphql:2:71: |has to be an object"}},
		{
			"example does not fit", map[string]string{"a": strings.Replace(ok, "{id: 1}", "{id: true, x: 1}", 1)},
			[]string{"a.graphql:2:71: |no variable $x", "a.graphql:2:71: |does not fit the schema: variable.id cannot use bool as ID"},
		},
		{
			"problems of several files at once", map[string]string{"a": "query {", "b": `"x" query B { text }`, "c": ok},
			[]string{"a.graphql:1:8: |Expected", "b.graphql:1:5: |no @rest"},
		},
	}
	s := testSchema(t, compileSDL)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{"README.md": {Data: []byte("not a document")}}
			for name, text := range c.docs {
				files[name+".graphql"] = &fstest.MapFile{Data: []byte(text)}
			}
			_, err := New(newStub(t), s, Options{Documents: files})
			var compile *CompileError
			if !errors.As(err, &compile) {
				t.Fatalf("got %v", err)
			}
			if len(compile.Faults) != len(c.want) {
				t.Fatalf("got\n%s\nwant %d faults", err, len(c.want))
			}
			for i, f := range compile.Faults {
				place, text, _ := strings.Cut(c.want[i], "|")
				if !strings.HasPrefix(f.String(), place) || !strings.Contains(f.Text, text) {
					t.Errorf("got  %s\nwant %s…%s", f, place, text)
				}
				if !strings.Contains(err.Error(), "\n  "+f.String()) {
					t.Errorf("%q is not in %q", f, err)
				}
			}
		})
	}
}

func TestUnreadableDocuments(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"a.graphql": {Mode: os.ModeDir | 0o700}}
	_, err := New(newStub(t), schema.AST(), Options{Documents: files})
	if err == nil || !strings.Contains(err.Error(), "a.graphql: reading the document") {
		t.Errorf("got %v", err)
	}
}

// Documents may use what GraphQL offers: fragments, aliases, defaults, a query by POST.
func TestDocumentsOfManyForms(t *testing.T) {
	t.Parallel()
	_, err := compile(testSchema(t, compileSDL), fstest.MapFS{
		"a.graphql": {Data: []byte(`"x" query A($id: ID! = 1) @rest(method: POST, path: "/api/a.b_c-d~e", query: ["id"], example: {}) {
			other: thing(id: $id) { ...F }
		}
		fragment F on Thing { id self { id } }`)},
		"b.graphql": {Data: []byte(`"x" mutation B($any: JSON!) @rest(method: POST, path: "/api/b", body: "any", example: {any: [1]}) { keep(any: $any) { id } }`)},
		"c.graphql": {Data: []byte(`"x" query C @rest(method: GET, path: "/api/b", answer: DOWNLOAD, produces: "a/b") { file { fileName contentType content etag locale } }`)},
	})
	if err != nil {
		t.Error(err)
	}
}
