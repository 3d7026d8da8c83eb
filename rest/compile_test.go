package rest

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema/operations"
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

// loaded returns the operations of some documents, given by the names of their files.
func loaded(tb testing.TB, s *ast.Schema, documents map[string]string) []*operations.Operation {
	tb.Helper()
	folder := fstest.MapFS{}
	for name, text := range documents {
		folder[name+".graphql"] = &fstest.MapFile{Data: []byte(text)}
	}

	list, err := operations.Load(s, folder)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

const compileSDL = `
type Query { thing(id: ID!, kinds: [Kind!]): Thing! text: String! }
type Mutation { change(input: ThingInput!): Thing! keep(any: JSON!): Thing! }
type Thing { id: ID! }
input ThingInput { id: ID!, n: Int }
enum Kind { a b }
`

// TestCompileErrors checks that an invalid route prevents the start, with an error that states
// the position and the remedy.
func TestCompileErrors(t *testing.T) {
	t.Parallel()

	const text = `responseExample: "x") { text }`
	for _, tt := range []struct{ document, want string }{
		{`"x" query A @rest(method: GET, path: "/api/a/{id}", ` + text, `@rest(path) names "id"`},
		{`"x" query A @rest(method: GET, path: "/api/a", query: ["id"], ` + text, `@rest(query) names "id"`},
		{`"x" query A($id: ID!) @rest(method: GET, path: "/api/a", ` +
			`example: {id: 1}, responseExample: {}) { thing(id: $id) { id } }`, "a variable has no source"},
		{`"x" mutation A($id: ID!) @rest(method: POST, path: "/api/a", query: ["id"], ` +
			`example: {id: 1}, responseExample: {}) { change(input: {id: $id}) { id } }`,
			"but no argument of this name takes it"},
		{`"x" mutation A($input: ThingInput!) @rest(method: POST, path: "/api/a", body: "input") ` +
			`{ change(input: $input) { id } }`, "no example"},
		{`"x" query A @rest(method: GET, path: "/api/a") { text }`, "no example of its response"},
		{`"x" query A @rest(method: GET, path: "/api/b", ` + text, "A already has this route"},
	} {
		_, err := compile(loaded(t, testSchema(t, compileSDL), map[string]string{
			"a": tt.document,
			"b": `"x" query B @rest(method: GET, path: "/api/b", ` + text,
		}))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\ngot %v\nwant %s", tt.document, err, tt.want)
		}
	}
}
