package limits

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/request"
)

// oddValues are values of each JSON type. Most of them are invalid for any given field.
var oddValues = []string{
	`null`, `true`, `0`, `-0`, `-0.0`, `-1`, `1.5`, `1e400`, `-1e400`, `1e-400`, `99999999999999999999`,
	`""`, `" "`, `"0"`, `"1.5"`, `"-0"`, `"1e400"`, `"NaN"`, `"-Infinity"`, `"0x10"`, `"0x1p4"`, `"1_0"`, `"true"`,
	`"\u0000"`, `"\ud800"`, `"\u200b"`, `"\u3164"`, `"\u2028"`, `"%zz"`, `"EN"`, `"ana@example.com"`,
	`"0000-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-23:59"`, `"` + strings.Repeat("x", 5_000) + `"`,
	`[]`, `[null]`, `["web-app",null,7]`, `[[]]`, `[{}]`, `{}`, `{"a":""}`,
}

// inputField is an argument of a root field, or a field of an input object below one.
type inputField struct {
	root *ast.FieldDefinition
	path []string // the argument, then the fields of input objects
	typ  *ast.Type
	hint bool
	kind string // operation type: query, mutation or subscription
}

// inputFields returns every argument in the schema and every field below it.
func inputFields() (list []inputField) {
	s := exec.AST()
	var below func(f inputField)
	below = func(f inputField) {
		list = append(list, f)
		if def := s.Types[f.typ.Name()]; def.Kind == ast.InputObject {
			for _, field := range def.Fields {
				child := f
				child.path = append(slices.Clone(f.path), field.Name)
				child.typ = field.Type
				child.hint = f.hint || field.Directives.ForName("hint") != nil
				below(child)
			}
		}
	}

	for _, root := range []*ast.Definition{s.Query, s.Mutation, s.Subscription} {
		for _, field := range root.Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			for _, arg := range field.Arguments {
				below(inputField{
					root: field,
					path: []string{arg.Name},
					typ:  arg.Type,
					kind: strings.ToLower(root.Name),
				})
			}
		}
	}
	return list
}

// validInput returns valid arguments for the root field of f: the required ones and the
// objects that contain f. The value of f is the replacement.
func validInput(f inputField, replacement any) map[string]any {
	args := map[string]any{}
	for _, arg := range f.root.Arguments {
		if arg.Type.NonNull && arg.DefaultValue == nil || arg.Name == f.path[0] {
			args[arg.Name] = validValue(arg.Type, arg.Directives, f.path[1:])
		}
	}

	object := args
	for _, name := range f.path[:len(f.path)-1] {
		object = object[name].(map[string]any)
	}
	object[f.path[len(f.path)-1]] = replacement
	return args
}

func validValue(typ *ast.Type, directives ast.DirectiveList, path []string) any {
	def := exec.AST().Types[typ.Name()]
	switch def.Kind {
	case ast.InputObject:
		object := map[string]any{}
		for _, field := range def.Fields {
			onPath := len(path) > 1 && path[0] == field.Name
			if field.Type.NonNull || onPath {
				object[field.Name] = validValue(field.Type, field.Directives, path[min(1, len(path)):])
			}
		}
		return object
	case ast.Enum:
		return def.EnumValues[0].Name
	}

	if d := directives.ForName("constraint"); d != nil {
		if arg := d.Arguments.ForName("format"); arg != nil && arg.Value.Raw == "EMAIL" {
			return "ana@example.com"
		} else if arg != nil && arg.Value.Raw == "CURRENCY" {
			return "EUR"
		}
	}
	switch def.Name {
	case "Boolean":
		return true
	case "Int", "Float":
		return 1
	case "JSON":
		return map[string]any{"_id": "x", "_type": "post"}
	}
	return "web-app"
}

// literal returns a JSON value as a GraphQL literal. Enum values are not quoted.
func literal(value any, typ *ast.Type) string {
	def := exec.AST().Types[typ.Name()]
	switch v := value.(type) {
	case variable:
		return "$v"
	case json.RawMessage:
		var odd any
		decoder := json.NewDecoder(strings.NewReader(string(v)))
		decoder.UseNumber()
		_ = decoder.Decode(&odd)
		return literal(odd, typ)
	case map[string]any:
		var fields []string
		for name, field := range v {
			fieldType := ast.NamedType("JSON", nil)
			if known := def.Fields.ForName(name); known != nil {
				fieldType = known.Type
			}
			fields = append(fields, name+": "+literal(field, fieldType))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = literal(item, typ)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case string:
		if def.EnumValues.ForName(v) != nil {
			return v
		}
	}
	text, _ := json.Marshal(value)
	return string(text)
}

// variable stands for the variable $v in arguments that are written into a document.
type variable struct{}

// oddRequest is a request with one odd value. way names how the value is sent.
type oddRequest struct{ way, method, path, body string }

// oddRequests returns the requests that send a value for f.
func oddRequests(f inputField, value string, routes map[string]string) []oddRequest {
	var names, types, written, passed []string
	arguments, inner := validInput(f, json.RawMessage(value)), validInput(f, variable{})
	for _, arg := range f.root.Arguments {
		if given, ok := arguments[arg.Name]; ok {
			names = append(names, "$"+arg.Name+": "+arg.Type.String())
			types = append(types, arg.Name+": $"+arg.Name)
			written = append(written, arg.Name+": "+literal(given, arg.Type))
			passed = append(passed, arg.Name+": "+literal(inner[arg.Name], arg.Type))
		}
	}

	graphQL := func(way, variables string, args []string, vars any) oddRequest {
		document := fmt.Sprintf("%s%s { %s(%s) { __typename } }",
			f.kind, variables, f.root.Name, strings.Join(args, ", "))
		body, _ := json.Marshal(map[string]any{"query": document, "variables": vars})
		return oddRequest{way, "POST", "/graphql", string(body)}
	}
	requests := []oddRequest{
		graphQL("variables", "("+strings.Join(names, ", ")+")", types, arguments),
		graphQL("literals", "", written, nil),
		graphQL("a variable in literals", "($v: "+f.typ.String()+")", passed,
			map[string]any{"v": json.RawMessage(value)}),
	}

	route, ok := routes[f.root.Name]
	if !ok {
		return requests
	}
	method, path, _ := strings.Cut(route, " ")
	body, values := "", url.Values{}
	for name, given := range arguments {
		if name == "input" || name == "payload" {
			text, _ := json.Marshal(given)
			body = string(text)
			continue
		}
		values.Set(name, fmt.Sprint(given))
		if raw, odd := given.(json.RawMessage); odd {
			text := string(raw)
			_ = json.Unmarshal(raw, &text)
			values.Set(name, text)
		}
	}
	return append(requests, oddRequest{"REST", method, path + "?" + values.Encode(), body})
}

// No value of any field causes a server error, whether it is sent through REST, in
// GraphQL variables or as a literal. Hints in a body or in a variable are never rejected,
// and dropped hints are named.
func TestOddInputCausesNoServerError(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "ADMIN_PAGE=on", "LOG_LEVEL=warn")

	routes := map[string]string{}
	for _, path := range s.App.Server.REST.Paths {
		for _, route := range path.Routes {
			routes[route.Root.Name] = route.Method + " " + route.Path
		}
	}

	fields := make(chan inputField)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for f := range fields {
				for _, value := range oddValues {
					dropped := map[string]string{} // names of the dropped fields by oddRequest.way
					for _, r := range oddRequests(f, value, routes) {
						if names, answered := checkOdd(s, f, value, r); answered {
							dropped[r.way] = names
						}
					}

					if different := slices.Compact(slices.Sorted(maps.Values(dropped))); len(different) > 1 {
						s.T.Errorf("%s.%s = %.80s: the named dropped fields differ: %v",
							f.root.Name, strings.Join(f.path, "."), value, dropped)
					}
				}
			}
		})
	}

	for _, f := range inputFields() {
		fields <- f
	}
	close(fields)
	group.Wait()

	if s.Log.Has(`"level":"error"`) {
		t.Errorf("errors are logged: %.2000s", s.Log)
	}
}

// checkOdd sends a request with an odd value and checks the response. It returns the names
// of the dropped fields, and whether the request was answered without an error.
func checkOdd(s *apptest.Service, f inputField, value string, r oddRequest) (dropped string, answered bool) {
	token := map[string]string{
		"CACHE":   config.DevCacheToken,
		"WEBHOOK": config.DevWebhookSecret,
		"ADMIN":   config.DevAdminToken,
	}
	var headers []string
	if f.kind == "subscription" {
		headers = append(headers, "Accept: text/event-stream")
	}
	if d := f.root.Directives.ForName("auth"); d != nil {
		headers = append(headers, "Authorization: Bearer "+token[d.Arguments.ForName("token").Value.Raw])
	}

	response := s.Do(r.method, r.path, r.body, headers...)
	what := fmt.Sprintf("%s.%s = %.80s by %s", f.root.Name, strings.Join(f.path, "."), value, r.way)

	for _, code := range []schema.Code{schema.CodeInternal, schema.CodeUpstreamUnavailable} {
		if response.Has(`"`+string(code)+`"`) || response.Status >= 500 {
			s.T.Errorf("%s: %.300s", what, response)
			return "", false
		}
	}

	var result struct {
		Errors []struct {
			Message    string
			Extensions struct{ Errors []struct{ Code string } }
		}
	}
	_ = json.Unmarshal(response.Body, &result)

	// An unknown field is not a hint, and neither is a literal in a document.
	whole := r.way == "variables" || r.way == "REST"
	unknown := response.Has(`"unknown_field"`) ||
		response.Has("is not defined by type")
	answered = response.Status == 200 && len(result.Errors) == 0
	if f.hint && whole && !unknown && !answered {
		s.T.Errorf("%s: the hint is rejected: %.300s", what, response)
	}
	return response.Header.Get(request.HeaderDropped), answered
}

// A subscription that does not select exactly one field is a client error, with and
// without a token.
func TestSubscriptionToOneField(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "ADMIN_PAGE=on", "LOG_LEVEL=warn")

	for _, document := range []string{
		`subscription { a: leadEvents { position } b: leadEvents { position } }`,
		`subscription($x: Boolean = false) { leadEvents @include(if: $x) { position } }`,
		`subscription { leadEvents { position } __typename }`,
		`subscription { ...none } fragment none on Subscription { leadEvents @skip(if: true) { position } }`,
	} {
		body, _ := json.Marshal(object{"query": document})
		for _, token := range []string{"", config.DevAdminToken} {
			response := s.Do("POST", "/graphql", string(body),
				"Accept: text/event-stream, application/graphql-response+json", "Authorization: Bearer "+token)
			if response.Status != 400 {
				t.Errorf("%s with the token %q: %s", document, token, response)
			}
		}
	}

	// A field that is selected twice counts once.
	response := s.Do("POST", "/graphql", `{"query":"subscription { leadEvents { position } leadEvents { restarted } }"}`,
		"Accept: text/event-stream", "Authorization: Bearer "+config.DevAdminToken)
	if response.Status != 200 {
		t.Errorf("one field selected twice: %s", response)
	}
	if s.Log.Has(`"level":"error"`) {
		t.Errorf("errors are logged: %.2000s", s.Log)
	}
}
