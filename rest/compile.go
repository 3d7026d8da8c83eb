package rest

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"siteapi/schema"
)

// compiler turns documents into routes and collects every problem in them.
type compiler struct {
	schema *ast.Schema
	errs   []error
}

// add records a problem at a place in a document.
func (c *compiler) add(pos *ast.Position, format string, args ...any) {
	place := fmt.Sprintf("%s:%d:%d: ", pos.Src.Name, pos.Line, pos.Column)
	c.errs = append(c.errs, errors.New(place+fmt.Sprintf(format, args...)))
}

// compile returns the routes of all documents, sorted by path and method. Its error lists
// the problems of all documents, one per line, each with its place and the remedy.
func compile(s *ast.Schema, documents fs.FS) ([]*route, error) {
	c := &compiler{schema: s}
	names, err := fs.Glob(documents, "*.graphql")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		c.errs = append(c.errs,
			errors.New("there is no operation document: add one *.graphql file for each route"))
	}

	var routes []*route
	for _, name := range names {
		text, err := fs.ReadFile(documents, name)
		if err != nil {
			return nil, fmt.Errorf("reading the REST operations: %w", err)
		}
		if rt := c.document(name, string(text)); rt != nil {
			routes = append(routes, rt)
		}
	}

	c.conflicts(routes)
	if len(c.errs) > 0 {
		return nil, fmt.Errorf("compiling the REST operations:\n%w", errors.Join(c.errs...))
	}

	// The order in the description must not depend on the names of the files.
	slices.SortFunc(routes, func(a, b *route) int {
		return strings.Compare(a.path+" "+a.method, b.path+" "+b.method)
	})
	return routes, nil
}

// document compiles one file. It returns nil if the file does not define a route.
func (c *compiler) document(name, text string) *route {
	doc, err := parser.ParseQuery(&ast.Source{Name: name, Input: text})
	if err != nil {
		c.errs = append(c.errs, err)
		return nil
	}

	if errs := validator.ValidateWithRules(c.schema, doc, rules.NewDefaultRules()); len(errs) > 0 {
		for _, err := range errs {
			c.errs = append(c.errs, err)
		}
		return nil
	}
	if len(doc.Operations) != 1 {
		c.errs = append(c.errs, fmt.Errorf("%s: there are %d operations: give each route a file of its own",
			name, len(doc.Operations)))
		return nil
	}

	rt := &route{text: text, op: doc.Operations[0]}
	if rt.directive = rt.op.Directives.ForName("rest"); rt.directive == nil {
		c.add(rt.op.Position,
			"the operation has no @rest: add @rest(method: …, path: …), or move the file away")
		return nil
	}

	args := rt.directive.ArgumentMap(nil)
	rt.method, _ = args["method"].(string)
	rt.path, _ = args["path"].(string)
	rt.produces, _ = args["produces"].(string)
	rt.headers, rt.codes = texts(args["headers"]), texts(args["codes"])

	for _, name := range rt.headers {
		if requestHeaders()[name] == [2]string{} {
			c.add(rt.at("headers"),
				"@rest(headers) names %q, which route.go does not describe: add it there", name)
		}
	}

	if len(rt.op.SelectionSet) == 1 {
		rt.root, _ = rt.op.SelectionSet[0].(*ast.Field)
	}
	switch {
	case rt.root == nil || strings.HasPrefix(rt.root.Name, "__") || len(rt.root.Directives) > 0:
		c.add(rt.op.Position, "select exactly one root field, without directives: its value is the answer")
		return nil
	case rt.op.Name == "":
		c.add(rt.op.Position, "the operation has no name: name it, since clients call the route by it")
	case strings.TrimSpace(rt.op.Description) == "":
		c.add(rt.op.Position, "the operation has no description: say in a line above it what the route does")
	}

	c.address(rt)
	c.sources(rt, args)
	c.examples(rt)
	c.answer(rt, args["answer"] == "DOWNLOAD")
	return rt
}

// address checks that the path can be spelt in one way only, apart from its variables,
// and that the method suits the operation.
func (c *compiler) address(rt *route) {
	odd := func(segment string) bool {
		return variableOf(segment) == "" && strings.ContainsFunc(segment, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
				!strings.ContainsRune("-._~", r)
		})
	}
	segments := strings.Split(rt.path, "/")

	switch {
	case !strings.HasPrefix(rt.path, "/api/"):
		c.add(rt.at("path"), "the path %q does not begin with /api/: put the route below it", rt.path)
	case rt.path == DescriptionPath:
		c.add(rt.at("path"), "the path %s belongs to the OpenAPI description: choose another", rt.path)
	case path.Clean(rt.path) != rt.path || slices.ContainsFunc(segments, odd):
		c.add(rt.at("path"),
			"the path %q is not in plain form: use letters, digits, - . _ ~ and single slashes, "+
				"and {name} for a whole segment that is the value of $name", rt.path)
	case variableOf(segments[2]) != "":
		c.add(rt.at("path"),
			"the path %q has a variable first: begin with the name of a group of routes", rt.path)
	}

	if rt.method == "GET" && rt.op.Operation != ast.Query {
		c.add(rt.at("method"), "GET has to be safe to repeat, but this is a %s: use POST", rt.op.Operation)
	}
}

// sources assigns each variable its place in the request and its argument of the root
// field, so that errors can name the parameter or field that the client sent.
func (c *compiler) sources(rt *route, args map[string]any) {
	rt.sentAs = map[string]string{}
	source := func(argument, name string) *ast.VariableDefinition {
		def := rt.op.VariableDefinitions.ForName(name)
		i := slices.IndexFunc(rt.root.Arguments, func(a *ast.Argument) bool {
			return a.Value.Kind == ast.Variable && a.Value.Raw == name
		})

		switch {
		case def == nil:
			c.add(rt.at(argument),
				"@rest(%s) names %q, but the operation has no variable $%s", argument, name, name)
			return nil
		case i < 0:
			c.add(def.Position,
				"$%s is not the value of an argument of %s: give it to one itself", name, rt.root.Name)
			return nil
		}

		if _, twice := rt.sentAs[rt.root.Arguments[i].Name]; twice {
			c.add(rt.at(argument), "$%s comes from two places: choose one", name)
		}
		if argument == "body" {
			name = ""
		}
		rt.sentAs[rt.root.Arguments[i].Name] = name
		return def
	}

	for segment := range strings.SplitSeq(rt.path, "/") {
		if name := variableOf(segment); name != "" {
			if def := source("path", name); def != nil {
				c.text(def, "a path")
				c.bounded(rt, def)
				rt.segments = append(rt.segments, def)
			}
		}
	}
	for _, name := range texts(args["query"]) {
		if def := source("query", name); def != nil {
			c.text(def, "a query string")
			rt.params = append(rt.params, def)
		}
	}

	if name, ok := args["body"].(string); ok {
		if def := source("body", name); def != nil {
			c.body(rt, "body", args)
			c.wholeBody(rt, def)
		}
	}
	for _, name := range texts(args["bodyFields"]) {
		if def := source("bodyFields", name); def != nil {
			if rt.body == nil {
				c.body(rt, "bodyFields", args)
			}
			rt.body.fields = append(rt.body.fields, def)
		}
	}
	if rt.body != nil && rt.body.variable != nil && rt.body.fields != nil {
		c.add(rt.at("bodyFields"),
			"the body goes to $%s whole: choose body or bodyFields", rt.body.variable.Variable)
	}
	if len(rt.sentAs) < len(rt.op.VariableDefinitions) && len(c.errs) == 0 {
		c.add(
			rt.directive.Position,
			"a variable comes from nowhere: name each in @rest(path), (query), (body) or (bodyFields)",
		)
	}
}

// text checks that the value of a variable can be sent as a text.
func (c *compiler) text(def *ast.VariableDefinition, place string) {
	if def.Type.Elem != nil || def.Definition.Kind != ast.Enum && !builtInScalar(def.Type.NamedType) {
		c.add(def.Position, "$%s is a %s, which %s can't carry: use a scalar or an enum, or the body",
			def.Variable, def.Type, place)
	}
}

// bounded checks that a text from the path has a greatest length.
func (c *compiler) bounded(rt *route, def *ast.VariableDefinition) {
	constraint := rt.argument(def.Variable).Directives.ForName("constraint")
	free := def.Type.NamedType == "String" || def.Type.NamedType == "ID"
	if free && (constraint == nil || constraint.Arguments.ForName("maxLength") == nil) {
		c.add(def.Position,
			"$%s may be of any length: add @constraint(maxLength: …) to the argument in the schema", def.Variable)
	}
}

// wholeBody checks the variable that takes the whole body.
func (c *compiler) wholeBody(rt *route, def *ast.VariableDefinition) {
	rt.body.variable = def
	isInput := def.Definition.Kind == ast.InputObject
	anyJSON := def.Definition.Kind == ast.Scalar && !builtInScalar(def.Type.NamedType)
	if def.Type.Elem != nil || !isInput && !anyJSON {
		c.add(
			def.Position,
			"$%s is a %s, which is not a body: use an input object or a scalar for any JSON",
			def.Variable,
			def.Type,
		)
	}
}

// body checks the arguments of @rest about the body, which one of them names.
func (c *compiler) body(rt *route, argument string, args map[string]any) {
	limit, _ := args["bodyLimit"].(int64)
	rt.body = &body{limit: limit, accepts: texts(args["accepts"])}
	switch {
	case rt.method == "GET":
		c.add(
			rt.at(argument),
			"a GET request has no body: use POST or take the variables from the query string",
		)
	case limit <= 0:
		c.add(rt.at("bodyLimit"), "@rest(bodyLimit) is %d: give a number of bytes above 0", limit)
	case len(rt.body.accepts) == 0:
		c.add(rt.at("accepts"), "@rest(accepts) is empty: name at least one media type")
	}

	for _, accepted := range rt.body.accepts {
		if media, params, err := mime.ParseMediaType(accepted); err != nil ||
			len(params) > 0 || media != accepted {
			c.add(rt.at("accepts"),
				"%q is not a media type in plain form: write it like application/json", accepted)
		}
	}
}

// examples checks that the documentation has its examples, and that the example of the
// request would be accepted.
func (c *compiler) examples(rt *route) {
	if len(rt.op.VariableDefinitions) > 0 {
		if arg := rt.directive.Arguments.ForName("example"); arg == nil {
			c.add(rt.directive.Position, "the route has variables but no example: add @rest(example: {…})")
		} else if value, err := arg.Value.Value(nil); err != nil {
			c.add(arg.Position, "@rest(example) can't be read: %s", err)
		} else if vars, ok := value.(map[string]any); !ok {
			c.add(arg.Position, "@rest(example) has to be an object with a value for each variable")
		} else if _, err := validator.VariableValues(c.schema, rt.op, vars); err != nil {
			c.add(arg.Position, "@rest(example) does not fit the schema: %s", err)
		} else {
			rt.exampleVars = vars
		}
	}

	if rt.produces == "" && rt.directive.Arguments.ForName("answerExample") == nil {
		c.add(rt.directive.Position,
			"the route has no example of its answer: add @rest(answerExample: {…})")
	}
}

// answer checks that a download selects the fields that describe it, and that it has a
// content, which its resolver attaches to the response.
func (c *compiler) answer(rt *route, download bool) {
	switch {
	case download != (rt.produces != ""):
		c.add(rt.at("produces"),
			"@rest(produces) belongs to a download, which needs it: add it to one, or take it away")
	case !download:
		// The other checks concern downloads.
	case rt.method != "GET":
		c.add(rt.at("answer"), "a download is read with GET: change the method or the answer")

	default:
		fields := schema.Fields(rt.root.SelectionSet)
		for _, name := range []string{"fileName", "contentType"} {
			isIt := func(f *ast.Field) bool {
				return f.Alias == name && f.Definition.Type.String() == "String!"
			}
			if !slices.ContainsFunc(fields, isIt) {
				c.add(rt.root.Position, "a download needs the field %s, a String!: select it", name)
			}
		}

		file := c.schema.Types[rt.root.Definition.Type.Name()]
		if content := file.Fields.ForName("content"); content == nil || content.Type.String() != "Base64!" {
			c.add(rt.root.Position, "a download needs the field content, a Base64!: add it to %s", file.Name)
		}
	}
}

// conflicts reports routes and names that exist twice, and paths of which a request could
// mean either. Names matter because generated clients call routes by them.
func (c *compiler) conflicts(routes []*route) {
	seen := map[string]bool{}
	for i, rt := range routes {
		for _, other := range routes[:i] {
			if rt.path != other.path && overlap(rt.path, other.path) {
				c.add(rt.at("path"), "the path %s could also be %s: change one of them", rt.path, other.path)
			}
		}
		for _, name := range []string{rt.method + " " + rt.path, "operation " + rt.op.Name} {
			if seen[name] {
				c.add(rt.op.Position, "there is another %s already: change the path or the name", name)
			}
			seen[name] = true
		}
	}
}

// overlap reports whether a request could mean either of two paths with variables. A path
// without any is preferred to one that has them.
func overlap(a, b string) bool {
	first, second := strings.Split(a, "/"), strings.Split(b, "/")
	if len(first) != len(second) || !strings.Contains(a, "{") || !strings.Contains(b, "{") {
		return false
	}

	for i, segment := range first {
		if segment != second[i] && variableOf(segment) == "" && variableOf(second[i]) == "" {
			return false
		}
	}
	return true
}

// builtInScalar reports whether a scalar is one of GraphQL's own.
func builtInScalar(name string) bool {
	return slices.Contains([]string{"Boolean", "Int", "Float", "String", "ID"}, name)
}

// texts returns the texts of a list in a directive, none if the list is left out.
func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	return out
}
