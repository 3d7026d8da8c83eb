package rest

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// compiler turns documents into routes and collects what is wrong with them.
type compiler struct {
	faults
	schema *ast.Schema
	shapes *shapes
}

// compile returns the routes of all documents, sorted by path and method.
func compile(s *ast.Schema, documents fs.FS) ([]*route, error) {
	c := &compiler{schema: s, shapes: newShapes(s)}
	names, err := fs.Glob(documents, "*.graphql")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		c.addFile("*.graphql", "there is no operation document: add one for each route")
	}
	var routes []*route
	for _, name := range names {
		text, err := fs.ReadFile(documents, name)
		if err != nil {
			c.addFile(name, "reading the document: %s", err)
			continue
		}
		if rt := c.document(name, string(text)); rt != nil {
			routes = append(routes, rt)
		}
	}
	c.conflicts(routes)
	if err := c.err(); err != nil {
		return nil, err
	}
	// The order of the description should not depend on how files are named.
	slices.SortFunc(routes, func(a, b *route) int {
		if byPath := strings.Compare(a.path, b.path); byPath != 0 {
			return byPath
		}
		return strings.Compare(a.method, b.method)
	})
	return routes, nil
}

// document compiles one file. It returns nil where the file is too broken to say which
// route it wants to be.
func (c *compiler) document(name, text string) *route {
	doc, err := parser.ParseQuery(&ast.Source{Name: name, Input: text})
	if err != nil {
		c.addGraphQL(name, err)
		return nil
	}
	// What does not fit the schema is not linked to it either, so nothing more can be
	// said of this document; the others are still looked at.
	if errs := validator.ValidateWithRules(c.schema, doc, rules.NewDefaultRules()); len(errs) > 0 {
		for _, err := range errs {
			c.addGraphQL(name, err)
		}
		return nil
	}
	switch len(doc.Operations) {
	case 0:
		c.addFile(name, "there is no operation: write one query or mutation with @rest")
		return nil
	case 1:
	default:
		c.add(doc.Operations[1].Position, "there is more than one operation: give each route a file of its own")
		return nil
	}
	// Fragments beside the operation are welcome.
	op := doc.Operations[0]
	directive := op.Directives.ForName("rest")
	if directive == nil {
		c.add(op.Position, "the operation has no @rest: add @rest(method: …, path: …), or move the file away")
		return nil
	}
	rt := &route{file: name, text: text, doc: doc, op: op, name: op.Name, position: directive.Position}
	c.operation(rt)
	if c.directive(rt, directive) {
		c.sources(rt)
		c.answer(rt)
		c.example(rt, directive)
	}
	return rt
}

// operation checks what does not depend on @rest's arguments.
func (c *compiler) operation(rt *route) {
	op := rt.op
	if op.Name == "" {
		c.add(op.Position, "the operation has no name: name it, since clients call the route by it")
	}
	rt.summary, rt.description = splitDescription(op.Description)
	if rt.summary == "" {
		c.add(op.Position, "the operation has no description: say in a line above it what the route does")
	}
	if len(op.SelectionSet) != 1 {
		c.add(op.Position, "the operation has %d root fields: select exactly one, whose value is the answer", len(op.SelectionSet))
		return
	}
	field, ok := op.SelectionSet[0].(*ast.Field)
	if !ok {
		c.add(op.SelectionSet[0].GetPosition(), "the root is a fragment: select the root field itself")
		return
	}
	if strings.HasPrefix(field.Name, "__") {
		c.add(field.Position, "%s describes the schema and is not an answer: select another root field", field.Name)
		return
	}
	// @skip and @include: without its root field an answer would have no body.
	for _, d := range field.Directives {
		c.add(d.Position, "@%s could leave the root field out: remove it", d.Name)
	}
	rt.root = field
}

// directive reads @rest and checks what it says by itself.
func (c *compiler) directive(rt *route, d *ast.Directive) bool {
	for _, arg := range d.Arguments {
		if pos := variableIn(arg.Value); pos != nil {
			c.add(pos, "@rest(%s) uses a variable, which has no value yet at start: write the value itself", arg.Name)
			return false
		}
	}
	// The validator has checked the types, and the schema gives the defaults.
	args := d.ArgumentMap(nil)
	rt.method, _ = args["method"].(string)
	rt.path, _ = args["path"].(string)
	rt.download = args["answer"] == "DOWNLOAD"
	rt.produces, _ = args["produces"].(string)
	c.path(rt, argumentPosition(d, "path"))
	switch {
	case rt.method == "GET" && rt.op.Operation != ast.Query:
		c.add(argumentPosition(d, "method"), "GET has to be safe to repeat, but this is a %s: use POST", rt.op.Operation)
	case rt.download && rt.method != "GET":
		c.add(argumentPosition(d, "answer"), "a download is read with GET: change the method or the answer")
	case rt.download != (rt.produces != ""):
		c.add(argumentPosition(d, "produces"), "@rest(produces) belongs to a download, which needs it: add it to one, or take it away")
	}
	return true
}

// path checks that there is one way to spell the path, which is the only one that is
// answered later.
func (c *compiler) path(rt *route, pos *ast.Position) {
	switch {
	case !strings.HasPrefix(rt.path, "/api/"):
		c.add(pos, "the path %q does not begin with /api/: put the route below it", rt.path)
	case rt.path == DescriptionPath:
		c.add(pos, "the path %s belongs to the OpenAPI description: choose another", rt.path)
	case path.Clean(rt.path) != rt.path || strings.ContainsFunc(rt.path, notInPath):
		c.add(pos, "the path %q is not in plain form: use letters, digits, - . _ ~ and single slashes, and none at the end", rt.path)
	}
}

// notInPath tells what would have to be escaped in a path, or has a meaning there.
func notInPath(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/-._~", r)
}

// conflicts reports routes and names that exist twice.
func (c *compiler) conflicts(routes []*route) {
	// Names matter across methods and paths: generated clients call routes by them.
	byAddress, byName := map[string]*route{}, map[string]*route{}
	for _, rt := range routes {
		address := rt.method + " " + rt.path
		if first := byAddress[address]; first != nil {
			c.add(rt.position, "%s is served by %s already: change the path or remove one of the two", address, first.file)
		} else {
			byAddress[address] = rt
		}
		if first := byName[rt.name]; first != nil && rt.name != "" {
			c.add(rt.op.Position, "the operation %s exists in %s already: choose another name", rt.name, first.file)
		} else {
			byName[rt.name] = rt
		}
	}
}

// splitDescription separates the first paragraph, which is the summary, from the rest.
func splitDescription(text string) (summary, rest string) {
	summary, rest, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	return strings.Join(strings.Fields(summary), " "), strings.TrimSpace(rest)
}

// variableIn returns where a value uses a variable, however deep, or nil.
func variableIn(v *ast.Value) *ast.Position {
	if v == nil {
		return nil
	}
	if v.Kind == ast.Variable {
		return v.Position
	}
	for _, child := range v.Children {
		if pos := variableIn(child.Value); pos != nil {
			return pos
		}
	}
	return nil
}

// argumentPosition points at an argument, or at the directive where it is missing.
func argumentPosition(d *ast.Directive, name string) *ast.Position {
	if arg := d.Arguments.ForName(name); arg != nil {
		return arg.Position
	}
	return d.Position
}
