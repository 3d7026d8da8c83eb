package rest

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"siteapi/schema"
)

func TestQueryParameters(t *testing.T) {
	t.Parallel()
	cases := []struct {
		query string
		want  string // what the resolver got; empty: refused
		field string // the field of the first error
	}{
		{"?all=true", "true -", ""},
		{"?all=TRUE", "true -", ""},
		{"?all=False&pattern=a*", "false a*", ""},
		{"?pattern=a%2Ab", "- a*b", ""},
		{"?pattern=a+b", "- a b", ""},
		{"?other=1&other=2&pattern=x", "- x", ""},
		{"", "- -", ""},
		{"?all=1", "", "all"},
		{"?all=yes", "", "all"},
		{"?all=", "", "all"},
		{"?all", "", "all"},
		{"?pattern=", "", "pattern"},
		{"?all=true&all=false", "", "all"},
		{"?pattern=a&pattern=", "", "pattern"},
		{"?pattern=%00", "", "pattern"},
		{"?pattern=%ff", "", "pattern"},
		{"?pattern=%0a", "", "pattern"},
		{"?pattern=%", "", ""},
		{"?all=true;pattern=x", "", ""},
	}
	for _, c := range cases {
		t.Run(c.query, func(t *testing.T) {
			t.Parallel()
			srv, stub := newServer(t)
			got := send(t, srv, "POST", "/api/cache/clear"+c.query, "", "Authorization", bearerHeader)
			if c.want == "" {
				p := got.problem(t)
				if got.status != 400 || stub.ran() != 0 {
					t.Fatalf("got %d, %d operations ran", got.status, stub.ran())
				}
				if c.field != "" && (len(p.Errors) == 0 || p.Errors[0].Field != c.field) {
					t.Errorf("errors %v, want one for %q", p.Errors, c.field)
				}
				return
			}
			if got.status != 200 {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			all, pattern := stub.args[0].(*bool), stub.args[1].(*string)
			text := "-"
			if all != nil {
				text = fmt.Sprint(*all)
			}
			if pattern != nil {
				text += " " + *pattern
			} else {
				text += " -"
			}
			if text != c.want {
				t.Errorf("the resolver got %s, want %s", text, c.want)
			}
		})
	}
}

func TestEmptyIdentifiersAndEnumsCountAsMissing(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)
	for _, query := range []string{"", "?id=", "?id", "?locale=ro", "?id=&locale="} {
		got := send(t, srv, "GET", "/api/quote/pdf"+query, "")
		if p := got.problem(t); got.status != 400 || len(p.Errors) != 1 || p.Errors[0].Field != "id" {
			t.Errorf("%q: got %d %+v", query, got.status, p)
		}
	}
	if got := send(t, srv, "GET", "/api/quote/pdf?id=abc&locale=", ""); got.status != 200 || stub.args[1].(*schema.Locale) != nil {
		t.Errorf("got %d and locale %v", got.status, stub.args[1])
	}
	if got := send(t, srv, "GET", "/api/quote/pdf?id=abc&locale=es", ""); got.status != 200 || *stub.args[1].(*schema.Locale) != "es" {
		t.Errorf("got %d and locale %v", got.status, stub.args[1])
	}
	got := send(t, srv, "GET", "/api/quote/pdf?id=abc&locale=fr", "")
	if p := got.problem(t); got.status != 400 || p.Errors[0].Field != "locale" {
		t.Errorf("got %d %+v", got.status, p)
	}
}

// No route of the service has numbers in its query string yet; the next one may.
func TestParametersOfEveryType(t *testing.T) {
	t.Parallel()
	s := testSchema(t, `
		type Query { find(n: Int, f: Float, s: String, id: ID, b: Boolean, e: Kind): String! }
		enum Kind { a b }`)
	routes, err := compile(s, fstest.MapFS{"find.graphql": {Data: []byte(`"Finds."
		query Find($n: Int, $f: Float, $s: String, $id: ID, $b: Boolean, $e: Kind)
		@rest(method: GET, path: "/api/find", query: ["n", "f", "s", "id", "b", "e"], example: {n: 1}) {
			find(n: $n, f: $f, s: $s, id: $id, b: $b, e: $e)
		}`)}})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]map[string]any{
		"n=7&f=7&s=7&id=7&b=true&e=a": {"n": int64(7), "f": 7.0, "s": "7", "id": "7", "b": true, "e": "a"},
		"n=-9007199254740993":         {"n": int64(-9007199254740993)},
		"n=99999999999999999999":      {"n": "99999999999999999999"},
		"n=1.5&f=1e3":                 {"n": "1.5", "f": 1000.0},
		"f=NaN":                       {"f": "NaN"},
		"f=Inf":                       {"f": "Inf"},
		"f=0x10":                      {"f": "0x10"},
		"f=1e999":                     {"f": "1e999"},
		"n=&f=&s=&id=&e=":             {"s": ""},
		"b=":                          {"b": ""},
	} {
		got := map[string]any{}
		if problem := routes[0].bindQuery(httptest.NewRequest("GET", "/api/find?"+query, nil), got); problem != nil {
			t.Errorf("%s: %v", query, problem)
		}
		if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
			t.Errorf("%s: got %#v, want %#v", query, got, want)
		}
	}
}
