package rest

import (
	"strings"
	"testing"
	"testing/fstest"

	"siteapi/schema/operations"
)

// loaded returns the operations of some documents, given by the names of their files.
func loaded(tb testing.TB, documents map[string]string) []*operations.Operation {
	tb.Helper()
	folder := fstest.MapFS{}
	for name, text := range documents {
		folder[name+".graphql"] = &fstest.MapFile{Data: []byte(text)}
	}

	list, err := operations.Load(folder)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// TestCompileErrors checks that an invalid route prevents the start, with an error that states
// the position and the remedy.
func TestCompileErrors(t *testing.T) {
	t.Parallel()

	const text = `responseExample: "x") { cacheStats { success } }`
	for _, tt := range []struct{ document, want string }{
		{`"x" query A @rest(method: GET, path: "/api/a/{id}", ` + text, `@rest(path) names "id"`},
		{`"x" query A @rest(method: GET, path: "/api/a", query: ["id"], ` + text, `@rest(query) names "id"`},
		{`"x" query A($id: ID!) @rest(method: GET, path: "/api/a", ` +
			`example: {id: 1}, responseExample: {}) { quotePdf(id: $id) { fileName } }`, "a variable has no source"},
		{`"x" mutation A($id: String!) @rest(method: POST, path: "/api/a", query: ["id"], ` +
			`example: {id: 1}, responseExample: {}) { trackQuote(input: {sessionId: $id}) { success } }`,
			"but no argument of this name takes it"},
		{`"x" mutation A($input: TrackQuoteInput!) @rest(method: POST, path: "/api/a", body: "input") ` +
			`{ trackQuote(input: $input) { success } }`, "no example"},
		{`"x" query A @rest(method: GET, path: "/api/a") { cacheStats { success } }`, "no example of its response"},
		{`"x" query A @rest(method: GET, path: "/api/b", ` + text, "A already has this route"},
	} {
		_, err := compile(loaded(t, map[string]string{
			"a": tt.document,
			"b": `"x" query B @rest(method: GET, path: "/api/b", ` + text,
		}))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\ngot %v\nwant %s", tt.document, err, tt.want)
		}
	}
}
