package operations_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema/operations"
)

// An invalid document is rejected with its position and the remedy.
func TestLoadErrors(t *testing.T) {
	t.Parallel()
	const stats = ` { cacheStats { success } }`
	for _, tt := range []struct{ document, want string }{
		{"query A {\n  cacheStats { success }", "a.graphql:2:25: Expected Name"},
		{`"x" query A @command(name: "a") { cacheStats { nope } }`, `Cannot query field "nope"`},
		{`# nothing yet`, "there are 0 operations"},
		{`query A` + stats + ` query B` + stats, "there are 2 operations"},
		{`"x" query A` + stats, "a.graphql:1:5: the operation is not published"},
		{`query A @command(name: "a")` + stats, "a name and, above it, a description"},
		{`"x" query @command(name: "a")` + stats, "a name and, above it, a description"},
		{`"x" query A @command(name: "a") { cacheStats { success } again: cacheStats { success } }`,
			"exactly one root field"},
		{`"x" query A @command(name: "a") { ... { cacheStats { success } } }`, "exactly one root field"},
		{`"x" query A($l: Locale!) @command(name: "a") { content(documentType: "x") { id @include(if: $l) } }`,
			`"Locale!" used in position expecting type "Boolean!"`},
		{`"x" query A @command(name: "a", args: ["id"])` + stats, `names "id", which is not an argument`},
		{`"x" query A @tool(name: "a", audience: VISITOR, defaults: {id: 1})` + stats,
			`names "id", which is not an argument`},
	} {
		_, err := operations.Load(fstest.MapFS{"a.graphql": {Data: []byte(tt.document)}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\ngot %v\nwant %s", tt.document, err, tt.want)
		}
	}
}

// The fields of a single input object are the arguments. The response is described as an
// object.
func TestDescription(t *testing.T) {
	t.Parallel()
	list, err := operations.Load(fstest.MapFS{
		"a.graphql": {Data: []byte(`"Tracks." mutation A($input: TrackQuoteInput!)
			@tool(name: "track", audience: VISITOR, defaults: {attribution: {medium: "mcp"}}) {
			trackQuote(input: $input) { sessionId } }`)},
		"b.graphql": {Data: []byte(`"Content." query B($type: String!, $locale: Locale! = ro) @command(name: "b", args: ["type"])
			@tool(name: "b", audience: VISITOR) { content(documentType: $type, locale: $locale) { id } }`)},
	})
	if err != nil {
		t.Fatal(err)
	}

	for i, want := range [][]string{
		{`"required":["sessionId"]`, `"pattern":"^[A-Za-z0-9._:-]{1,128}$"`, `"selections":{"type":"object","properties":{"projectType":{"type":"string"`},
		{`"minLength":1,"maxLength":128`, `"locale":{"type":"string"`, `"enum":["en","es",`, `"default":"ro"`, `"required":["type"]`},
	} {
		input, err := json.Marshal(list[i].Input())
		for _, part := range want {
			if err != nil || !strings.Contains(string(input), part) {
				t.Errorf("%s (%v) lacks %s", input, err, part)
			}
		}
	}
	for i, want := range []string{
		`{"type":"object","properties":{"sessionId":{"type":"string"}}}`,
		`{"type":"object","properties":{"result":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"}}}}}}`,
	} {
		output, err := json.Marshal(list[i].Output())
		if err != nil || string(output) != want {
			t.Errorf("got %s (%v), want %s", output, err, want)
		}
	}

	if list[0].OperationDefinition.Operation != ast.Mutation || list[1].Command.Args[0] != "type" {
		t.Errorf("got %+v", list)
	}
}
