package rest

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

func TestQueryParameters(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		query string
		want  string // the resolver's arguments, or empty if the request is refused
		wrong string // the first error
	}{
		{"?all=true", "true -", ""},
		{"?all=False&pattern=a*", "false a*", ""},
		{"?pattern=a%2Ab", "- a*b", ""},
		{"?other=1&other=2&pattern=x", "- x", ""},
		{"", "- -", ""},
		{"?all=1", "", "all wrong_type"},
		{"?all=", "", "all wrong_type"},
		{"?pattern=", "", "pattern empty"},
		{"?all=true&all=false", "", "all repeated"},
		{"?pattern=a&pattern=", "", "pattern repeated"},
		{"?pattern=%00", "", "pattern control_characters"},
		{"?pattern=%ff", "", "pattern unreadable"},
		{"?pattern=%", "", ""},
		{"?all=true;pattern=x", "", ""},
	} {
		srv, stub := newServer(t)
		got := send(t, srv, "POST", "/api/cache/clear"+c.query, "", "Authorization", bearerHeader)

		if c.want == "" {
			p := got.problem(t)
			if got.status != 400 || stub.ran() != 0 {
				t.Errorf("%s: got %d, %d operations ran", c.query, got.status, stub.ran())
			}

			if c.wrong != "" &&
				(len(p.Errors) == 0 || p.Errors[0].Field+" "+string(p.Errors[0].Code) != c.wrong) {
				t.Errorf("%s: errors %v, want %s", c.query, p.Errors, c.wrong)
			}
			continue
		}

		all, pattern := "-", "-"
		if got.status == 200 && stub.args[0].(*bool) != nil {
			all = fmt.Sprint(*stub.args[0].(*bool))
		}
		if got.status == 200 && stub.args[1].(*string) != nil {
			pattern = *stub.args[1].(*string)
		}

		if all+" "+pattern != c.want {
			t.Errorf("%s: %d, the resolver got %s %s, want %s", c.query, got.status, all, pattern, c.want)
		}
	}
}

// No route of the service has numbers in its query string yet, but the next one may.
func TestParametersOfEveryType(t *testing.T) {
	t.Parallel()

	s := testSchema(t, `
		type Query { find(n: Int, f: Float, s: String, id: ID, b: Boolean, e: Kind): String! }
		enum Kind { a b }`)
	routes, err := compile(s, fstest.MapFS{"find.graphql": {Data: []byte(`"Finds."
		query Find($n: Int, $f: Float, $s: String, $id: ID, $b: Boolean, $e: Kind)
		@rest(method: GET, path: "/api/find", query: ["n", "f", "s", "id", "b", "e"], example: {n: 1}, answerExample: "x") {
			find(n: $n, f: $f, s: $s, id: $id, b: $b, e: $e)
		}`)}})
	if err != nil {
		t.Fatal(err)
	}

	for query, want := range map[string]string{
		"n=7&f=7&s=7&id=7&b=true&e=a": `map[b:true e:a f:7 id:7 n:7 s:7]`,
		"n=-9007199254740993":         `map[n:-9007199254740993]`,
		"n=1.5&f=1e3":                 `map[f:1e3 n:1.5]`,
		"f=NaN":                       `map[f:NaN]`,
		"f=0x10":                      `map[f:0x10]`,
		"n=&f=&s=&id=&e=":             `map[s:]`,
	} {
		got := map[string]any{}
		if problem := routes[0].bindQuery(
			httptest.NewRequest("GET", "/api/find?"+query, nil), got,
		); problem != nil {
			t.Errorf("%s: %v", query, problem)
		}

		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}

		if _, isText := got["f"].(string); isText != (query == "f=NaN" || query == "f=0x10") {
			t.Errorf("%s: f is a %T", query, got["f"])
		}
	}
}

// Errors use the names that the client sent, even if variables and arguments have other
// names.
func TestErrorsNameWhatWasSent(t *testing.T) {
	t.Parallel()

	s := testSchema(t, `
		type Query { find(id: ID!, kinds: In): String! }
		input In { size: In, n: Int }`)
	routes, err := compile(s, fstest.MapFS{
		"a.graphql": {
			Data: []byte(`"x" query A($quote: ID!, $filter: In) @rest(method: POST, path: "/api/a", query:
			["quote"], body: "filter",
			example: {quote: 1}, answerExample: "x") { find(id: $quote, kinds: $filter) }`),
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	op := routes[0]
	fields, _ := schema.NewInputChecker(s).Check(op.op, map[string]any{
		"filter": map[string]any{"n": "x", "size": map[string]any{"n": "y"}},
	}, false)
	fields = append(fields, schema.Required("kinds"), schema.Required("other"))

	var got []string
	for _, f := range op.sentNames(fields) {
		got = append(got, f.Field)
	}
	if strings.Join(got, " ") != "quote size.n n body other" {
		t.Errorf("got %v", got)
	}

	for _, def := range []*ast.VariableDefinition{op.body.variable, op.params[0]} {
		if op.argument(def.Variable) == nil {
			t.Errorf("$%s goes nowhere", def.Variable)
		}
	}
}
