package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// introduction stands at the head of the description.
const introduction = "Cache management, the quote calculator and the content webhook of a multilingual site. Every route is " +
	"an operation of the service's GraphQL schema, so the same rules hold through both.\n\n" +
	"A path answers `HEAD` wherever it answers `GET`, and `OPTIONS` with the methods it has in `Allow`; any other method " +
	"answers 405. Errors are problem documents (RFC 9457). Unknown fields of a body and unknown parameters are ignored. " +
	"The lengths of texts are measured in characters after white space at both ends is cut off."

// describer writes the OpenAPI description of the routes.
type describer struct {
	schema  *ast.Schema
	types   *types
	schemes map[string]string // name of a security scheme → its description
	used    map[schema.Code]bool
}

// describe returns the OpenAPI 3.1 description of the routes.
func describe(s *ast.Schema, routes []*route, version string) (static, error) {
	if version == "" {
		version = "0.0.0"
	}
	d := &describer{schema: s, types: newTypes(s), schemes: map[string]string{}, used: map[schema.Code]bool{}}
	paths := object{}
	for _, rt := range routes {
		// Routes are sorted, so those of one path follow each other.
		if len(paths) == 0 || paths[len(paths)-1].name != rt.path {
			paths = append(paths, member{rt.path, object{}})
		}
		last := &paths[len(paths)-1]
		last.value = append(last.value.(object), member{strings.ToLower(rt.method), d.operation(rt)})
	}
	responses := d.problemResponses()
	d.types.enum(s.Types["FieldCode"])
	doc := object{
		{"openapi", "3.1.0"},
		{"info", object{{"title", "Site backend API"}, {"version", version}, {"description", introduction}}},
		{"servers", []any{object{{"url", "/"}, {"description", "The server this description comes from."}}}},
		{"paths", paths},
		{"components", object{
			{"schemas", append(d.types.components(), problemSchemas()...)},
			{"responses", responses},
			{"headers", headers()},
		}.with("securitySchemes", d.securitySchemes())},
	}
	compact, err := marshal(doc)
	if err != nil {
		return static{}, fmt.Errorf("writing the OpenAPI description: %w", err)
	}
	var body bytes.Buffer
	if err := json.Indent(&body, compact, "", "  "); err != nil {
		return static{}, fmt.Errorf("writing the OpenAPI description: %w", err)
	}
	body.WriteByte('\n')
	return newStatic("application/json", body.Bytes()), nil
}

// operation describes one route. Its tag is the first word of its path below /api/.
func (d *describer) operation(rt *route) object {
	o := object{
		{"operationId", strings.ToLower(rt.name[:1]) + rt.name[1:]},
		{"tags", []any{strings.Split(rt.path, "/")[2]}},
		{"summary", rt.summary},
	}.with("description", oneLineParagraphs(rt.description))
	// An empty list says that no token is needed; none at all would say nothing.
	security := []any{}
	if scheme := d.scheme(rt); scheme != "" {
		security = append(security, object{{scheme, []any{}}})
	}
	o = append(o, member{"security", security})
	return o.with("parameters", d.parameters(rt)).with("requestBody", d.requestBody(rt)).
		with("responses", d.responses(rt))
}

// scheme returns the security scheme of a route, empty where it has none.
func (d *describer) scheme(rt *route) string {
	auth := rt.root.Definition.Directives.ForName("auth")
	if auth == nil {
		return ""
	}
	token := auth.Arguments.ForName("token").Value
	name := strings.ToLower(token.Raw) + "Token"
	if _, known := d.schemes[name]; !known {
		kinds := d.schema.Types[d.schema.Directives["auth"].Arguments.ForName("token").Type.NamedType]
		d.schemes[name] = oneLine(kinds.EnumValues.ForName(token.Raw).Description)
	}
	return name
}

// securitySchemes describes the kinds of token that the routes ask for.
func (d *describer) securitySchemes() object {
	o := object{}
	for _, name := range sortedKeys(d.schemes) {
		o = append(o, member{name, object{{"type", "http"}, {"scheme", "bearer"}, {"description", d.schemes[name]}}})
	}
	return o
}

// parameters describes what a route reads from the query string and from headers of its own.
func (d *describer) parameters(rt *route) []any {
	list := []any{}
	for _, p := range rt.params {
		arg := rt.argumentOf(p.name)
		bounds, text := boundsOf(arg), p.definition.Description
		if text == "" && arg != nil {
			text = arg.Description
		}
		o := object{{"name", p.name}, {"in", "query"}}
		o = describeBounds(o, oneLine(text), bounds)
		if p.definition.Type.NonNull && p.definition.DefaultValue == nil {
			o = append(o, member{"required", true})
		}
		list = append(list, append(o, member{"schema", d.types.value(p.definition.Type, bounds, false)}).
			with("example", rt.exampleOf(p.name)))
	}
	if rt.localised {
		list = append(list, headerParameter("Accept-Language", "Languages the client prefers, where nothing else decides.", "ro, en;q=0.5"))
	}
	if rt.download {
		list = append(list, headerParameter("If-None-Match", "Entity tags the client holds; where one is still right the answer is 304.", `"3f2a"`))
	}
	return list
}

// headerParameter describes a header that every route of a kind reads.
func headerParameter(name, description, example string) object {
	return object{
		{"name", name}, {"in", "header"}, {"description", description},
		{"schema", object{{"type", "string"}}}, {"example", example},
	}
}

// requestBody describes the body, the same for each media type it may be sent as.
func (d *describer) requestBody(rt *route) object {
	b := rt.body
	if b == nil {
		return nil
	}
	arg := rt.argumentOf(b.variable)
	sch := d.types.value(b.definition.Type, boundsOf(arg), true)
	if arg != nil && b.shape == anything {
		sch = sch.with("description", oneLine(arg.Description))
	}
	content := object{}
	for _, media := range b.accepts {
		content = append(content, member{media, object{{"schema", sch}}.with("example", rt.exampleOf(b.variable))})
	}
	text := oneLine(b.definition.Description + fmt.Sprintf(" JSON, at most %d bytes.", b.limit))
	return object{{"description", text}, {"required", b.definition.Type.NonNull}, {"content", content}}
}

// argumentOf returns the root field's argument that a variable is given to, nil where
// it is used deeper down.
func (rt *route) argumentOf(variable string) *ast.ArgumentDefinition {
	for _, arg := range rt.root.Arguments {
		if arg.Value.Kind == ast.Variable && arg.Value.Raw == variable {
			return rt.root.Definition.Arguments.ForName(arg.Name)
		}
	}
	return nil
}

// boundsOf returns the @constraint of an argument, nil where it has none.
func boundsOf(arg *ast.ArgumentDefinition) *ast.Directive {
	if arg == nil {
		return nil
	}
	return arg.Directives.ForName("constraint")
}

// oneLineParagraphs undoes the line breaks of a document inside each paragraph.
func oneLineParagraphs(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = oneLine(p)
	}
	return strings.Join(paragraphs, "\n\n")
}
