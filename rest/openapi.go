package rest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
	"siteapi/schema/operations"
)

// introduction is the text at the beginning of the description.
const introduction = "Cache management, the quote calculator and the content webhook of a " +
	"multilingual site. Every route is an operation of the service's GraphQL schema, " +
	"so the same rules hold through both.\n\n" +
	"A path answers `HEAD` wherever it answers `GET`, and `OPTIONS` with the methods it has in `Allow`; " +
	"any other method answers 405. Errors are problem documents (RFC 9457). " +
	"Unknown fields of a body and unknown parameters are ignored. " +
	"The lengths of texts are measured in characters after white space at both ends is cut off."

// tagTexts describes the groups of routes. The tag of a route is the first word of its
// path below /api/.
func tagTexts() map[string]string {
	return map[string]string{
		"cache":    "State of the content cache, and removing entries from it.",
		"quote":    "The quote calculator: a visitor's choices, the request for a quote, its PDF.",
		"webhooks": "Notifications of other systems.",
	}
}

// describer writes the OpenAPI description of the routes.
type describer struct {
	schema  *ast.Schema
	types   *operations.Schemas
	schemes map[string]string // descriptions of the security schemes by name
	tags    map[string]bool
	codes   map[schema.Code]bool
}

func describe(s *ast.Schema, routes []*route, version string) ([]byte, error) {
	d := &describer{
		schema:  s,
		types:   operations.NewSchemas(s, "#/components/schemas/"),
		schemes: map[string]string{},
		tags:    map[string]bool{},
		codes:   map[schema.Code]bool{},
	}

	paths := object{}
	for _, rt := range routes {
		// Routes are sorted, so those of one path are adjacent.
		if len(paths) == 0 || paths[len(paths)-1].name != rt.path {
			paths = append(paths, member{rt.path, object{}})
		}

		last := &paths[len(paths)-1]
		last.value = append(last.value.(object), member{strings.ToLower(rt.method), d.operation(rt)})
	}

	d.types.Enum(s.Types["FieldCode"])

	doc := object{
		{"openapi", "3.1.0"},
		{"info", object{
			{"title", "Site backend API"},
			{"version", cmp.Or(version, "0.0.0")},
			{"description", introduction},
		}},
		{"servers", []any{object{
			{"url", "/"},
			{"description", "The server this description comes from."},
		}}},
		{"tags", d.tagList()},
		{"paths", paths},
		{"components", object{
			{"responses", d.problemResponses()},
			{"schemas", append(d.schemas(), problemSchemas()...)},
			{"headers", responseHeaders()},
		}.with("securitySchemes", d.securitySchemes())},
	}

	text, err := marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("writing the OpenAPI description: %w", err)
	}
	return text, nil
}

func (d *describer) tagList() []any {
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(d.tags)) {
		list = append(list, object{{"name", name}}.with("description", tagTexts()[name]))
	}
	return list
}

func (d *describer) schemas() object {
	o := object{}
	for _, name := range slices.Sorted(maps.Keys(d.types.Named)) {
		o = append(o, member{name, d.types.Named[name]})
	}
	return o
}

// operation describes one route.
func (d *describer) operation(rt *route) object {
	tag, _, _ := strings.Cut(strings.TrimPrefix(rt.path, "/api/"), "/")
	d.tags[tag] = true

	// An empty list declares that no token is needed. Without the list nothing would be
	// declared.
	security := []any{}
	if scheme := d.scheme(rt); scheme != "" {
		security = append(security, object{{scheme, []any{}}})
	}

	o := object{
		{"operationId", strings.ToLower(rt.Name[:1]) + rt.Name[1:]},
		{"tags", []any{tag}},
		{"security", security},
		{"summary", rt.Title},
	}

	return o.
		with("description", rt.Description).
		with("parameters", d.parameters(rt)).
		with("requestBody", d.requestBody(rt)).
		with("responses", d.responses(rt))
}

// scheme returns the name of a route's security scheme, or "" if the route has none.
func (d *describer) scheme(rt *route) string {
	auth := rt.Root.Definition.Directives.ForName("auth")
	if auth == nil {
		return ""
	}

	token := auth.Arguments.ForName("token").Value
	name := strings.ToLower(token.Raw) + "Token"
	d.schemes[name] = operations.OneLine(d.schema.Types["TokenKind"].EnumValues.ForName(token.Raw).Description)
	return name
}

func (d *describer) securitySchemes() object {
	o := object{}
	for _, name := range slices.Sorted(maps.Keys(d.schemes)) {
		o = append(o, member{name, object{
			{"type", "http"},
			{"scheme", "bearer"},
			{"description", d.schemes[name]},
		}})
	}
	return o
}

// parameters describes the parameters of a route in its path and its query string, and the
// request headers that it reads.
func (d *describer) parameters(rt *route) []any {
	list := []any{}
	for i, p := range slices.Concat(rt.segments, rt.params) {
		place := "query"
		if i < len(rt.segments) {
			place = "path"
		}

		o := object{{"name", p.Name}, {"in", place}}.with("description", p.Description)
		if place == "path" || p.Required() {
			o = append(o, member{"required", true})
		}
		o = append(o, member{"schema", d.types.Argument(p, false)})
		list = append(list, o.with("example", rt.example(p.Name)))
	}

	names := rt.headers
	if rt.produces != "" {
		names = append(slices.Clone(names), "If-None-Match")
	}

	for _, name := range names {
		text := requestHeaders()[name]
		list = append(list, object{
			{"name", name},
			{"in", "header"},
			{"description", text[0]},
			{"schema", object{{"type", "string"}}},
			{"example", text[1]},
		})
	}
	return list
}

func (d *describer) requestBody(rt *route) object {
	b := rt.body
	if b == nil {
		return nil
	}

	sch, text, required := d.bodySchema(rt)
	content := object{}
	for _, media := range b.accepts {
		content = append(content, member{media, object{{"schema", sch}}.with("example", rt.bodyExample())})
	}
	text = operations.OneLine(fmt.Sprintf("%s JSON, at most %d bytes.", text, b.limit))
	return object{{"description", text}, {"required", required}, {"content", content}}
}

// bodySchema describes the value of a body, which is a variable's or has fields of variables.
func (d *describer) bodySchema(rt *route) (sch *jsonschema.Schema, text string, required bool) {
	v := rt.body.variable
	if v == nil {
		return d.types.Object(rt.body.fields), "The fields of the request.", true
	}

	sch = d.types.Argument(*v, true)
	if v.Definition.Kind == ast.Scalar {
		sch.Description = operations.OneLine(rt.Root.Definition.Arguments[0].Description)
	}
	return sch, v.Description, v.Type.NonNull
}

// bodyExample returns the example of a body.
func (rt *route) bodyExample() any {
	if v := rt.body.variable; v != nil {
		return rt.example(v.Name)
	}
	fields := object{}
	for _, v := range rt.body.fields {
		if value := rt.example(v.Name); value != nil {
			fields = append(fields, member{v.Name, value})
		}
	}
	return fields
}

// example returns the example of a variable, or nil if the document gives none.
func (rt *route) example(variable string) any {
	if value := rt.Rest.Arguments.ForName("example").Value.Children.ForName(variable); value != nil {
		return literal(value)
	}
	return nil
}

func (d *describer) responses(rt *route) object {
	o := object{{"200", d.success(rt)}}
	if rt.produces != "" {
		o = append(o, member{"304", object{
			{"description", "The client's copy is current."},
			{"headers", headerRefs("ETag", "Cache-Control", "X-Request-Id")},
		}})
	}

	for _, code := range rt.allCodes() {
		d.codes[code] = true
		o = append(o, member{strconv.Itoa(code.Status()), ref("responses", responseName(code))})
	}

	return append(o, member{"default", ref("responses", "Problem")})
}

func (d *describer) success(rt *route) object {
	if rt.produces != "" {
		return object{
			{"description", "The file, as a download."},
			{"headers", headerRefs(
				"Content-Disposition", "Content-Language", "ETag", "Cache-Control", "X-Request-Id",
			)},
			{"content", object{{rt.produces, object{{"schema", object{
				{"type", "string"},
				{"format", "binary"},
				{"contentMediaType", rt.produces},
			}}}}}},
		}
	}

	text := "The value of the operation."
	if def := d.schema.Types[rt.Root.Definition.Type.NamedType]; def != nil && def.Description != "" {
		text = operations.OneLine(def.Description)
	}

	headers := []string{"Cache-Control", "X-Request-Id"}
	if rt.takesHints() {
		headers = append(headers, schema.HeaderDropped)
	}

	return object{
		{"description", text},
		{"headers", headerRefs(headers...)},
		{"content", object{{"application/json", object{
			{"schema", d.types.Answer(rt.Operation)},
			{"example", literal(rt.Rest.Arguments.ForName("answerExample").Value)},
		}}}},
	}
}
