package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
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
	types   *types
	schemes map[string]string // descriptions of the security schemes by name
	tags    map[string]bool
	codes   map[schema.Code]bool
}

func describe(s *ast.Schema, routes []*route, version string) ([]byte, error) {
	d := &describer{
		schema:  s,
		types:   &types{schema: s, named: map[string]object{}},
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

	d.types.enum(s.Types["FieldCode"])

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
			{"schemas", append(d.types.components(), problemSchemas()...)},
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

// operation describes one route. The first paragraph of the document's description
// becomes its summary.
func (d *describer) operation(rt *route) object {
	tag := strings.Split(rt.path, "/")[2]
	d.tags[tag] = true

	paragraphs := strings.Split(rt.op.Description, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = oneLine(p)
	}

	// An empty list declares that no token is needed. Without the list nothing would be
	// declared.
	security := []any{}
	if scheme := d.scheme(rt); scheme != "" {
		security = append(security, object{{scheme, []any{}}})
	}

	o := object{
		{"operationId", strings.ToLower(rt.op.Name[:1]) + rt.op.Name[1:]},
		{"tags", []any{tag}},
		{"security", security},
		{"summary", paragraphs[0]},
	}

	return o.
		with("description", strings.Join(paragraphs[1:], "\n\n")).
		with("parameters", d.parameters(rt)).
		with("requestBody", d.requestBody(rt)).
		with("responses", d.responses(rt))
}

// scheme returns the name of a route's security scheme, or "" if the route has none.
func (d *describer) scheme(rt *route) string {
	auth := rt.root.Definition.Directives.ForName("auth")
	if auth == nil {
		return ""
	}

	token := auth.Arguments.ForName("token").Value
	name := strings.ToLower(token.Raw) + "Token"
	d.schemes[name] = oneLine(d.schema.Types["TokenKind"].EnumValues.ForName(token.Raw).Description)
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

		arg := rt.argument(p.Variable)
		constraint, text := arg.Directives.ForName("constraint"), p.Description
		if text == "" {
			text = arg.Description
		}

		o := object{{"name", p.Variable}, {"in", place}}.
			with("description", describeBounds(text, constraint))
		if place == "path" || p.Type.NonNull && p.DefaultValue == nil {
			o = append(o, member{"required", true})
		}
		o = append(o, member{"schema", d.types.value(p.Type, constraint, false)})
		list = append(list, o.with("example", rt.example(p.Variable)))
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
	text = oneLine(fmt.Sprintf("%s JSON, at most %d bytes.", text, b.limit))
	return object{{"description", text}, {"required", required}, {"content", content}}
}

// bodySchema describes the value of a body, which is a variable's or has fields of variables.
func (d *describer) bodySchema(rt *route) (sch object, text string, required bool) {
	if v := rt.body.variable; v != nil {
		arg := rt.argument(v.Variable)
		sch = d.types.value(v.Type, arg.Directives.ForName("constraint"), true)
		if v.Definition.Kind == ast.Scalar {
			sch = sch.with("description", oneLine(arg.Description))
		}
		return sch, v.Description, v.Type.NonNull
	}

	properties, names := object{}, []string{}
	for _, v := range rt.body.fields {
		arg := rt.argument(v.Variable)
		field := d.types.value(v.Type, arg.Directives.ForName("constraint"), true)
		properties = append(properties, member{v.Variable, field.with("description", oneLine(v.Description))})
		if v.Type.NonNull && v.DefaultValue == nil {
			names = append(names, v.Variable)
		}
	}
	sch = object{{"type", "object"}, {"properties", properties}}
	if len(names) > 0 {
		sch = append(sch, member{"required", names})
	}
	return sch, "The fields of the request.", true
}

// bodyExample returns the example of a body.
func (rt *route) bodyExample() any {
	if v := rt.body.variable; v != nil {
		return rt.example(v.Variable)
	}
	fields := object{}
	for _, v := range rt.body.fields {
		if value := rt.example(v.Variable); value != nil {
			fields = append(fields, member{v.Variable, value})
		}
	}
	return fields
}

// example returns the example of a variable, or nil if the document gives none.
func (rt *route) example(variable string) any {
	if value := rt.directive.Arguments.ForName("example").Value.Children.ForName(variable); value != nil {
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

	typ := *rt.root.Definition.Type
	typ.NonNull = true // The routes send 404 instead of null.

	text := "The value of the operation."
	if def := d.schema.Types[typ.NamedType]; def != nil && def.Description != "" {
		text = oneLine(def.Description)
	}

	headers := []string{"Cache-Control", "X-Request-Id"}
	if rt.takesHints() {
		headers = append(headers, schema.HeaderDropped)
	}

	return object{
		{"description", text},
		{"headers", headerRefs(headers...)},
		{"content", object{{"application/json", object{
			{"schema", d.types.selected(rt.op.Name, &typ, rt.root.SelectionSet)},
			{"example", literal(rt.directive.Arguments.ForName("answerExample").Value)},
		}}}},
	}
}

// problemText describes when a code is returned, and gives an example of its detail.
func problemText(code schema.Code) (when, detail string) {
	switch code {
	case schema.CodeBadUserInput:
		return "The JSON is malformed, or a field or parameter is missing or invalid.",
			"The request has invalid fields."

	case schema.CodeUnauthenticated:
		return "The token is missing or wrong, or the service has none for this route.",
			"A valid token is required: Authorization: Bearer <token>."

	case schema.CodeNotFound:
		return "There is nothing with this id.", "There is no submission with this id."

	case schema.CodePayloadTooLarge:
		return "The body is too large.", "The body may have at most 65536 bytes."

	case schema.CodeUnsupportedMediaType:
		return "The body is not sent as JSON in UTF-8 without a content coding.",
			"The body has to be JSON, sent with the Content-Type application/json."

	case schema.CodeIdempotencyKeyReused:
		return "This session has sent the Idempotency-Key with other content. Nothing was stored.",
			"This Idempotency-Key was used for other content. Send a new key for a new attempt."

	case schema.CodeRateLimited:
		return "This client sends too many requests.",
			"There were too many requests from this address. Please wait a moment."

	case schema.CodeUpstreamUnavailable:
		return "A backend that is needed is away, or there are too many requests. " +
				"What was sent may have been stored all the same: " +
				"sending the same again is safe and makes no second lead.",
			"The service is busy. Please try again."

	default:
		return "A bug. The log has more under the request id.", ""
	}
}

const exampleRequestID = "1h1kr32dxp7im"

// problemResponses returns the responses that the routes refer to. Linters report
// responses without a reference as mistakes, so they are left out.
func (d *describer) problemResponses() object {
	o := object{}
	for _, code := range schema.Codes() {
		if !d.codes[code] {
			continue
		}

		when, detail := problemText(code)

		names := []string{"X-Request-Id"}
		switch code.Status() {
		case http.StatusUnauthorized:
			names = append(names, "WWW-Authenticate")
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			names = append(names, "Retry-After")
		}

		example := &schema.Error{Code: code, Message: detail}
		if code == schema.CodeBadUserInput {
			example.Fields = []schema.FieldError{
				schema.Required("contact.email"),
				schema.TooLong("contact.company", schema.MaxNameLength),
			}
		}

		o = append(o, member{responseName(code), object{
			{"description", when},
			{"headers", headerRefs(names...)},
			{"content", problemContent(newProblem(example, exampleRequestID))},
		}})
	}

	return append(o, member{"Problem", object{
		{"description", "Any other problem, such as 405 for a method that the path does not have."},
		{"headers", headerRefs("X-Request-Id", "Allow")},
		{"content", problemContent(nil)},
	}})
}

// problemContent returns the content of every response that is not a success.
func problemContent(example any) object {
	return object{
		{"application/problem+json", object{{"schema", ref("schemas", "Problem")}}.with("example", example)},
	}
}

// problemSchemas describes Problem and schema.FieldError.
func problemSchemas() object {
	codes := []any{}
	for _, code := range schema.Codes() {
		codes = append(codes, code)
	}

	text := func(description string) object {
		return object{{"type", "string"}, {"description", description}}
	}

	return object{
		{"Problem", object{
			{"type", "object"},
			{"description", "What went wrong (RFC 9457)."},
			{"required", []any{"type", "title", "status", "detail", "code", "success", "requestId"}},
			{"properties", object{
				{"type", append(
					text("Always `about:blank`: the status says the kind."),
					member{"const", "about:blank"},
				)},
				{"title", text("The status in words.")},
				{"status", object{
					{"type", "integer"},
					{"minimum", 400},
					{"maximum", 599},
					{"description", "The HTTP status."},
				}},
				{"detail", text("What is wrong, a sentence for people.")},
				{"code", append(text("What is wrong, for programs."), member{"enum", codes})},
				{"success", object{
					{"type", "boolean"},
					{"const", false},
					{"description", "Always false."},
				}},
				{"errors", object{
					{"type", "array"},
					{"maxItems", schema.MaxFieldErrors},
					{"items", ref("schemas", "FieldError")},
					{"description", "The invalid fields, with `BAD_USER_INPUT`."},
				}},
				{"requestId", text("Under this id the service's log has more.")},
			}},
		}},

		{"FieldError", object{
			{"type", "object"},
			{"description", "One invalid field."},
			{"required", []any{"field", "code", "message"}},
			{"properties", object{
				{"field", text(
					"Path of the field, such as `contact.email` or `selections.features[2]`; " +
						"`body` for the body as a whole.",
				)},
				{"code", ref("schemas", "FieldCode")},
				{"params", object{
					{"type", "object"},
					{"description", "The bounds that the code speaks of, such as `{\"max\": 100}`."},
					{"properties", object{
						{"max", object{
							{"type", "number"},
							{"description", "Most characters or different items, or the largest number."},
						}},
						{"min", object{{"type", "number"}, {"description", "Smallest number."}}},
						{"field", text("The other field that the code speaks of.")},
						{"allowed", object{
							{"type", "array"},
							{"items", object{{"type", "string"}}},
							{"description", "The values that are allowed."},
						}},
						{"type", text("The type that the value must have: string, number, integer, boolean or object.")},
					}},
				}},
				{"message", text("What is wrong with it, in English.")},
			}},
		}},
	}
}

func responseHeaders() object {
	header := func(description, typ string, example any) object {
		return object{
			{"description", description},
			{"schema", object{{"type", typ}}},
			{"example", example},
		}
	}

	return object{
		{"X-Request-Id", header(
			"Id of the request, the client's own where it sent a usable one.", "string", exampleRequestID,
		)},
		{"Cache-Control", header("Whether and how the answer may be cached.", "string", "no-store")},
		{schema.HeaderDropped, header(
			"In development: hints that were left out.", "string", "formData.email",
		)},
		{"WWW-Authenticate", header("How to authenticate.", "string", "Bearer")},
		{"Retry-After", header("Seconds to wait before the next try.", "integer", json.Number("5"))},
		{"Allow", header("Methods the path has, with 405.", "string", "GET, HEAD, OPTIONS")},
		{"ETag", header("Strong entity tag of the file.", "string", `"3f2a"`)},
		{"Content-Disposition", header(
			"Offers the file for saving, with its name.", "string", "attachment; filename=quote-3f2a.pdf",
		)},
		{"Content-Language", header("Language of the file.", "string", "ro")},
	}
}

func headerRefs(names ...string) object {
	o := object{}
	for _, name := range names {
		o = append(o, member{name, ref("headers", name)})
	}
	return o
}

// responseName turns BAD_USER_INPUT into BadUserInput.
func responseName(code schema.Code) string {
	words := strings.Split(strings.ToLower(string(code)), "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}
