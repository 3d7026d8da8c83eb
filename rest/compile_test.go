package rest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// testSchema returns a schema with the service's directives and other types.
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
type Query { thing(id: ID!, kinds: [Kind!]): Thing! file(id: ID): File kind(of: Kind!): Thing! half: Half! text: String! }
type Mutation { change(input: ThingInput!): Thing! keep(any: JSON!): Thing! }
type Thing { id: ID! self(id: ID): Thing }
type File { fileName: String! contentType: String! content: Base64! etag: String! locale: Kind }
type Half { fileName: String contentType: String! content: String! }
input ThingInput { id: ID!, inner: ThingInput, n: Int }
enum Kind { a b }
`

// TestCompileErrors checks that a document that could not be served prevents the start,
// with an error that states the place and the remedy.
func TestCompileErrors(t *testing.T) {
	t.Parallel()

	const text = `answerExample: "x") { text }`
	for _, tt := range []struct{ document, want string }{
		{"query A {\n  thing(id: 1) { id }", "a.graphql:2:22: Expected Name"},
		{`fragment F on Thing { id }`, "never used"},
		{`# nothing yet`, "there are 0 operations"},
		{"query A @rest(method: GET, path: \"/api/a\") {\n  thing(id: 1) { nope } }",
			`a.graphql:2:18: Cannot query field "nope" on type "Thing"`},
		{`query A { text } query B { text }`, "there are 2 operations"},
		{`query A { text }`, "a.graphql:1:1: the operation has no @rest"},
		{`"x" query A @rest(path: "/api/a", ` + text, `"method" of type "RestMethod!" is required`},
		{`"x" query @rest(method: GET, path: "/api/a", ` + text, "no name"},
		{`query A @rest(method: GET, path: "/api/a", ` + text, "no description"},
		{`"x" query A @rest(method: GET, path: "/api/a", answerExample: "x") { text again: text }`,
			"exactly one root field"},
		{`"x" query A @rest(method: GET, path: "/api/a", answerExample: "x") { ... { text } }`,
			"exactly one root field"},
		{`"x" query A @rest(method: GET, path: "/api/a", answerExample: "x") ` +
			`{ __schema { description } }`, "exactly one root field"},
		{`"x" query A @rest(method: GET, path: "/api/a", answerExample: "x") ` +
			`{ text @skip(if: false) }`, "exactly one root field"},
		{`"x" query A @rest(method: GET, path: "/a", ` + text,
			"a.graphql:1:32: the path \"/a\" does not begin with /api/"},
		{`"x" query A @rest(method: GET, path: "/api/openapi.json", ` + text,
			"belongs to the OpenAPI description"},
		{`"x" query A @rest(method: GET, path: "/api/a/", ` + text, "not in plain form"},
		{`"x" query A @rest(method: GET, path: "/api/../a", ` + text, "not in plain form"},
		{`"x" query A @rest(method: GET, path: "/api/a-{id}", ` + text, "not in plain form"},
		{`"x" query A @rest(method: GET, path: "/api/{id}", ` + text, "begin with the name of a group"},
		{`"x" query A @rest(method: GET, path: "/api/a/{id}", ` + text,
			`@rest(path) names "id", but the operation has no variable $id`},
		{`"x" query A($id: ID!) @rest(method: GET, path: "/api/a/{id}", ` +
			`example: {id: 1}, answerExample: {}) { thing(id: $id) { id } }`, "$id may be of any length"},
		{`"x" query A($k: [Kind!]) @rest(method: GET, path: "/api/a/{k}", ` +
			`example: {}, answerExample: {}) { thing(id: 1, kinds: $k) { id } }`, "a path can't carry"},
		{`"x" mutation A @rest(method: GET, path: "/api/a", answerExample: {}) { keep(any: 1) { id } }`,
			"GET has to be safe"},
		{`"x" query A @rest(method: GET, path: "/api/a", query: ["id"], ` + text,
			`names "id", but the operation has no variable $id`},
		{`"x" query A($id: ID!) @rest(method: GET, path: "/api/a", query: ["id", "id"], ` +
			`example: {id: 1}, answerExample: {}) { thing(id: $id) { id } }`,
			"$id comes from two places"},
		{`"x" query A($k: [Kind!]) @rest(method: GET, path: "/api/a", query: ["k"], ` +
			`example: {}, answerExample: {}) { thing(id: 1, kinds: $k) { id } }`,
			"a query string can't carry"},
		{`"x" query A($id: ID!) @rest(method: GET, path: "/api/a", ` +
			`example: {id: 1}, answerExample: {}) { thing(id: $id) { id } }`,
			"a variable comes from nowhere"},
		{`"x" query A($id: ID) @rest(method: GET, path: "/api/a", query: ["id"], ` +
			`example: {}, answerExample: {}) { thing(id: 1) { self(id: $id) { id } } }`,
			"$id is not the value of an argument of thing"},
		{`"x" mutation A($id: ID!) @rest(method: POST, path: "/api/a", query: ["id"], ` +
			`example: {id: 1}, answerExample: {}) { change(input: {id: $id}) { id } }`,
			"$id is not the value of an argument of change"},
		{`"x" query A($id: ID!) @rest(method: GET, path: "/api/a", body: "id", ` +
			`example: {id: 1}, answerExample: {}) { thing(id: $id) { id } }`,
			"a GET request has no body"},
		{`"x" query A($id: ID!) @rest(method: POST, path: "/api/a", body: "id", ` +
			`example: {id: 1}, answerExample: {}) { thing(id: $id) { id } }`,
			"$id is a ID!, which is not a body"},
		{`"x" query A($id: ID!) @rest(method: GET, path: "/api/a", bodyFields: ["id"], example: {id: 1}, answerExample: {}) ` +
			`{ thing(id: $id) { id } }`, "a GET request has no body"},
		{`"x" query A($id: ID!) @rest(method: POST, path: "/api/a", bodyFields: ["no"], example: {id: 1}, answerExample: {}) ` +
			`{ thing(id: $id) { id } }`, `@rest(bodyFields) names "no"`},
		{`"x" query A($id: ID!, $k: [Kind!]) @rest(method: POST, path: "/api/a", body: "id", bodyFields: ["k"], ` +
			`example: {id: 1}, answerExample: {}) { thing(id: $id, kinds: $k) { id } }`, "choose body or bodyFields"},
		{change(`bodyLimit: 0, example: {i: {id: 1}}`), "bodyLimit) is 0"},
		{change(`accepts: [], example: {i: {id: 1}}`), "accepts) is empty"},
		{change(`accepts: ["a/b; c=d"], example: {i: {id: 1}}`), `"a/b; c=d" is not a media type`},
		{change(``), "no example"},
		{change(`example: 7`), "has to be an object"},
		{change(`example: {i: {id: true}}`), "does not fit the schema"},
		{change(`example: {i: {id: 1}}, headers: ["X-Own"]`), `names "X-Own"`},
		{`"x" query A @rest(method: GET, path: "/api/a") { text }`, "no example of its answer"},
		{`"x" query A @rest(method: POST, path: "/api/a", answer: DOWNLOAD, produces: "a/b") ` +
			`{ file { fileName contentType } }`,
			"a download is read with GET"},
		{`"x" query A @rest(method: GET, path: "/api/a", answer: DOWNLOAD) ` +
			`{ file { fileName contentType } }`,
			"produces) belongs to a download"},
		{`"x" query A @rest(method: GET, path: "/api/a", answer: DOWNLOAD, produces: "a/b") ` +
			`{ file { name: fileName } }`,
			"needs the field fileName"},
		{`"x" query A @rest(method: GET, path: "/api/a", answer: DOWNLOAD, produces: "a/b") ` +
			`{ half { contentType } }`,
			"needs the field content, a Base64!"},
	} {
		_, err := compile(testSchema(t, compileSDL), fstest.MapFS{"a.graphql": {Data: []byte(tt.document)}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\ngot %v\nwant %s", tt.document, err, tt.want)
		}
	}
}

// change returns a document whose body is $i, with other arguments of @rest.
func change(arguments string) string {
	return `"x" mutation A($i: ThingInput!) ` +
		`@rest(method: POST, path: "/api/a", body: "i", answerExample: {}, ` + arguments + `) ` +
		`{ change(input: $i) { id } }`
}

func TestConflictingDocuments(t *testing.T) {
	t.Parallel()

	document := &fstest.MapFile{
		Data: []byte(`"x" query A @rest(method: GET, path: "/api/a", answerExample: "x") { text }`),
	}

	variable := func(name, path string) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, `"x" query %s($k: Kind!) @rest(method: GET, path: "%s", `+
			`example: {k: a}, answerExample: {}) { kind(of: $k) { id } }`, name, path)}
	}

	_, err := compile(testSchema(t, compileSDL), fstest.MapFS{
		"a.graphql": document,
		"b.graphql": document,
		"d.graphql": variable("D", "/api/d/{k}/x"),
		"e.graphql": variable("E", "/api/d/y/{k}"),
		"f.graphql": variable("F", "/api/d/y/x/{k}"),
		"c.graphql": {Data: []byte("query {")},
	})

	for _, want := range []string{
		"another GET /api/a already",
		"another operation A already",
		"c.graphql:1:8",
		"the path /api/d/y/{k} could also be /api/d/{k}/x",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}

	if _, err := compile(testSchema(t, compileSDL), fstest.MapFS{}); err == nil {
		t.Error("an API without routes starts")
	}
}
