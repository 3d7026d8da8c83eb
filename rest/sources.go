package rest

import (
	"errors"
	"mime"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
)

// downloadField is a field that a download is made of.
type downloadField struct {
	name, typ string // an empty type: any
	required  bool
}

// downloadFields lists the fields that a download is made of, by the names they have to be selected under.
func downloadFields() []downloadField {
	return []downloadField{
		{"fileName", "String", true},
		{"contentType", "String", true},
		{"content", "Base64", true},
		{"etag", "String", false},
		{"locale", "", false},
	}
}

// sources gives every variable its place in the request.
func (c *compiler) sources(rt *route) {
	d := rt.op.Directives.ForName("rest")
	args := d.ArgumentMap(nil)
	queryPos := argumentPosition(d, "query")
	sourced := map[string]bool{}
	for _, name := range texts(args["query"]) {
		def := rt.op.VariableDefinitions.ForName(name)
		switch {
		case def == nil:
			c.add(queryPos, "@rest(query) names %q, but the operation has no variable $%s: declare it or take the name away", name, name)
			continue
		case sourced[name]:
			c.add(queryPos, "@rest(query) names %q twice: take one away", name)
			continue
		case !fitsQuery(def):
			c.add(def.Position, "$%s is a %s, which a query string can't carry: use a scalar or an enum, or the body", name, def.Type)
		}
		sourced[name] = true
		rt.params = append(rt.params, newParam(def))
	}
	if name, ok := args["body"].(string); ok {
		c.body(rt, d, name, args, sourced)
	} else {
		for _, only := range []string{"accepts", "bodyLimit"} {
			if d.Arguments.ForName(only) != nil {
				c.add(argumentPosition(d, only), "@rest(%s) is about a body, but the route takes none: name its variable with body", only)
			}
		}
	}
	// Even one with a default: a variable that nobody can set is a mistake.
	for _, def := range rt.op.VariableDefinitions {
		if !sourced[def.Variable] {
			c.add(def.Position, "$%s comes from nowhere: name it in @rest(query) or @rest(body)", def.Variable)
		}
	}
}

// body gives the variable that takes the body its place, and checks what goes with it.
func (c *compiler) body(rt *route, d *ast.Directive, name string, args map[string]any, sourced map[string]bool) {
	pos := argumentPosition(d, "body")
	def := rt.op.VariableDefinitions.ForName(name)
	switch {
	case def == nil:
		c.add(pos, "@rest(body) names %q, but the operation has no variable $%s: declare it or take the name away", name, name)
		return
	case sourced[name]:
		c.add(pos, "$%s can't come from the query string and from the body: choose one", name)
		return
	case rt.method == "GET":
		c.add(pos, "a GET request has no body: use POST or take the variables from the query string")
	case !fitsBody(def):
		c.add(def.Position, "$%s is a %s, which is not a body: use an input object or a scalar for any JSON", name, def.Type)
	}
	sourced[name] = true
	limit, _ := args["bodyLimit"].(int64)
	if limit <= 0 {
		c.add(argumentPosition(d, "bodyLimit"), "@rest(bodyLimit) is %d: give a number of bytes above 0", limit)
	}
	rt.body = &bodySource{variable: name, definition: def, limit: limit, shape: c.shapes.of(def.Type)}
	accepts := texts(args["accepts"])
	if len(accepts) == 0 {
		c.add(argumentPosition(d, "accepts"), "@rest(accepts) is empty: name at least one media type")
	}
	for _, accepted := range accepts {
		// Parameters such as charset are the request's business, not the route's.
		media, params, err := mime.ParseMediaType(accepted)
		if err != nil || len(params) > 0 || media != accepted || !strings.Contains(media, "/") {
			c.add(argumentPosition(d, "accepts"), "%q is not a media type in plain form: write it like application/json", accepted)
			continue
		}
		rt.body.accepts = append(rt.body.accepts, accepted)
	}
}

// answer checks that the root field's value can be sent back in the form @rest names.
func (c *compiler) answer(rt *route) {
	if rt.root == nil {
		return
	}
	// The executor names the field by its alias.
	rt.prefix = `{"` + rt.root.Alias + `":`
	if !rt.download {
		return
	}
	typ := rt.root.Definition.Type
	def := c.schema.Types[typ.NamedType]
	if typ.Elem != nil || def == nil || def.Kind != ast.Object {
		c.add(rt.root.Position, "a download has to be an object, but %s is a %s: change the answer or the field", rt.root.Name, typ)
		return
	}
	for _, want := range downloadFields() {
		i := slices.IndexFunc(rt.root.SelectionSet, func(sel ast.Selection) bool {
			f, ok := sel.(*ast.Field)
			return ok && f.Alias == want.name
		})
		if i < 0 {
			if want.required {
				c.add(rt.root.Position, "a download needs the field %s: select it", want.name)
			}
			continue
		}
		f := rt.root.SelectionSet[i].(*ast.Field)
		if want.typ != "" && f.Definition.Type.String() != want.typ+"!" {
			c.add(f.Position, "%s is a %s, but a download needs a %s!: change the field or the answer", want.name, f.Definition.Type, want.typ)
		}
		rt.localised = rt.localised || want.name == "locale"
	}
}

// example reads @rest(example) and checks that it would be accepted.
func (c *compiler) example(rt *route, d *ast.Directive) {
	arg := d.Arguments.ForName("example")
	if arg == nil {
		if len(rt.op.VariableDefinitions) > 0 {
			c.add(d.Position, "the route has variables but no example: add @rest(example: {…}) with a value for each required one")
		}
		return
	}
	// Written in GraphQL, checked as the variables of a request would be, and shown as JSON.
	value, err := arg.Value.Value(nil)
	if err != nil {
		c.add(arg.Position, "@rest(example) can't be read: %s", err)
		return
	}
	vars, ok := value.(map[string]any)
	if !ok {
		c.add(arg.Position, "@rest(example) has to be an object with a value for each variable")
		return
	}
	for name := range vars {
		if rt.op.VariableDefinitions.ForName(name) == nil {
			c.add(arg.Position, "@rest(example) names %q, but the operation has no variable $%s: take it away", name, name)
		}
	}
	if _, err := validator.VariableValues(c.schema, rt.op, vars); err != nil {
		text := err.Error()
		if gql := (*gqlerror.Error)(nil); errors.As(err, &gql) {
			text = gql.Path.String() + " " + gql.Message
		}
		c.add(arg.Position, "@rest(example) does not fit the schema: %s", text)
	}
	rt.example = arg.Value
}

// fitsQuery tells whether a parameter of the query string can become the variable.
func fitsQuery(def *ast.VariableDefinition) bool {
	return def.Type.Elem == nil && (def.Definition.Kind == ast.Enum || builtInScalar(def.Type.NamedType))
}

// fitsBody tells whether a JSON body can become the variable.
func fitsBody(def *ast.VariableDefinition) bool {
	anyJSON := def.Definition.Kind == ast.Scalar && !builtInScalar(def.Type.NamedType)
	return def.Type.Elem == nil && (def.Definition.Kind == ast.InputObject || anyJSON)
}

// builtInScalar tells the scalars of GraphQL itself from those of the schema.
func builtInScalar(name string) bool {
	switch name {
	case "Boolean", "Int", "Float", "String", "ID":
		return true
	default:
		return false
	}
}

// texts returns the texts of a list in a directive, none where it is left out.
func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
