package rest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// responses lists every status a route can answer with.
func (d *describer) responses(rt *route) object {
	o := object{{"200", d.success(rt)}}
	if rt.download {
		o = append(o, member{"304", object{
			{"description", "What the client holds is still right."},
			{"headers", headerRefs("ETag", "Cache-Control", "X-Request-Id")},
		}})
	}
	for _, code := range rt.codes() {
		d.used[code] = true
		o = append(o, member{strconv.Itoa(code.Status()), ref("responses", responseName(code))})
	}
	return append(o, member{"default", ref("responses", "Problem")})
}

// success describes the answer where all went well.
func (d *describer) success(rt *route) object {
	if rt.download {
		return object{
			{"description", "The file, as a download."},
			{"headers", headerRefs("Content-Disposition", "Content-Language", "ETag", "Cache-Control", "X-Request-Id")},
			{"content", object{{rt.produces, object{{"schema", object{
				{"type", "string"}, {"format", "binary"}, {"contentMediaType", rt.produces},
			}}}}}},
		}
	}
	typ := rt.root.Definition.Type
	text := "The value of the operation."
	if def := d.schema.Types[typ.NamedType]; def != nil && def.Description != "" {
		text = oneLine(def.Description)
	}
	return object{
		{"description", text},
		{"headers", headerRefs("Cache-Control", "X-Request-Id")},
		{"content", object{{"application/json", object{{"schema", d.types.selected(rt.name, nonNull(typ), rt.root.SelectionSet)}}}}},
	}
}

// codes lists the errors a route can answer with, by status.
func (rt *route) codes() []schema.Code {
	var codes []schema.Code
	if rt.body != nil || len(rt.params) > 0 {
		codes = append(codes, schema.CodeBadUserInput)
	}
	if rt.guarded() {
		codes = append(codes, schema.CodeUnauthenticated)
	}
	// A field that can't be null has nothing that could be missing.
	if !rt.root.Definition.Type.NonNull {
		codes = append(codes, schema.CodeNotFound)
	}
	if rt.body != nil {
		codes = append(codes, schema.CodePayloadTooLarge, schema.CodeUnsupportedMediaType)
	}
	// These can happen to any request.
	return append(codes, schema.CodeRateLimited, schema.CodeInternal, schema.CodeUpstreamUnavailable)
}

// problemText says when a code is answered, and gives an example of its detail.
func problemText(code schema.Code) (when, detail string) {
	switch code {
	case schema.CodeBadUserInput:
		return "The JSON is malformed, or a field or parameter is missing or invalid.", "The request has invalid fields."
	case schema.CodeUnauthenticated:
		return "The token is missing or wrong, or the service has none for this route.",
			"A valid token is required: Authorization: Bearer <token>."
	case schema.CodeNotFound:
		return "There is nothing with this id.", "There is no such submission."
	case schema.CodePayloadTooLarge:
		return "The body is too large.", "The body may have at most 65536 bytes."
	case schema.CodeUnsupportedMediaType:
		return "The body is not sent as JSON in UTF-8 without a content coding.",
			"The body has to be JSON, sent with the Content-Type application/json."
	case schema.CodeIdempotencyKeyReused:
		return "The Idempotency-Key stands for other content of this session. Nothing was stored.",
			"This Idempotency-Key was used for other content. Send a new key for a new attempt."
	case schema.CodeRateLimited:
		return "This client sends too many requests.", "Too many requests. Please wait."
	case schema.CodeUpstreamUnavailable:
		return "A backend that is needed is away.", "The request can't be stored at the moment. Please try again."
	default:
		return "A bug. The log has more under the request id.", internalDetail("9f86d081884c7d65")
	}
}

// problemResponses returns the responses that the routes refer to.
func (d *describer) problemResponses() object {
	o := object{}
	// Unused ones are left out: linters take them for mistakes.
	for _, code := range schema.Codes() {
		if !d.used[code] {
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
		example := Problem{
			Type: "about:blank", Title: http.StatusText(code.Status()), Status: code.Status(),
			Detail: detail, Code: code, RequestID: "9f86d081884c7d65",
		}
		if code == schema.CodeBadUserInput {
			example.Errors = []schema.FieldError{
				schema.Required("contact.email"), schema.TooLong("contact.company", schema.MaxNameLength),
			}
		}
		o = append(o, member{responseName(code), object{
			{"description", when},
			{"headers", headerRefs(names...)},
			{"content", problemContent(example)},
		}})
	}
	return append(o, member{"Problem", object{
		{"description", "Any other problem, such as 405 for a method that the path does not have."},
		{"headers", headerRefs("X-Request-Id", "Allow")},
		{"content", problemContent(nil)},
	}})
}

// problemContent is the body of every answer that is not a success.
func problemContent(example any) object {
	return object{{"application/problem+json", object{{"schema", ref("schemas", "Problem")}}.with("example", example)}}
}

// nonNull is what a route answers with: a null becomes a 404.
func nonNull(t *ast.Type) *ast.Type {
	strict := *t
	strict.NonNull = true
	return &strict
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
				{"type", object{{"type", "string"}, {"const", "about:blank"}, {"description", "Always `about:blank`: the status says the kind."}}},
				{"title", text("The status in words.")},
				{"status", object{{"type", "integer"}, {"minimum", 400}, {"maximum", 599}, {"description", "The HTTP status."}}},
				{"detail", text("What is wrong, a sentence for people.")},
				{"code", object{{"type", "string"}, {"enum", codes}, {"description", "What is wrong, for programs."}}},
				{"success", object{{"type", "boolean"}, {"const", false}, {"description", "Always false."}}},
				{"errors", object{
					{"type", "array"}, {"items", ref("schemas", "FieldError")}, {"description", "The invalid fields, with `BAD_USER_INPUT`."}, {"maxItems", schema.MaxFieldErrors},
				}},
				{"requestId", text("Under this id the service's log has more.")},
			}},
		}},
		{"FieldError", object{
			{"type", "object"},
			{"description", "One invalid field."},
			{"required", []any{"field", "code", "message"}},
			{"properties", object{
				{"field", text("Path of the field, such as `contact.email` or `selections.features[2]`.")},
				{"code", ref("schemas", "FieldCode")},
				{"params", object{{"type", "object"}, {"description", "The bounds that the code speaks of, such as `{\"max\": 100}`."}}},
				{"message", text("What is wrong with it, in English.")},
			}},
		}},
	}
}

// headers describes the headers of the answers.
func headers() object {
	header := func(description string, sch object, example any) object {
		return object{{"description", description}, {"schema", sch}, {"example", example}}
	}
	text := object{{"type", "string"}}
	return object{
		{"X-Request-Id", header("Id of the request, the client's own where it sent a usable one.", text, "9f86d081884c7d65")},
		{"Cache-Control", header("Whether and how the answer may be kept.", text, "no-store")},
		{"WWW-Authenticate", header("How to authenticate.", object{{"type", "string"}, {"const", "Bearer"}}, "Bearer")},
		{"Retry-After", header("Seconds to wait before the next try.", object{{"type", "integer"}, {"minimum", 1}}, json.Number("5"))},
		{"Allow", header("Methods the path has, with 405.", text, "GET, HEAD, OPTIONS")},
		{"ETag", header("Strong entity tag of the file.", text, `"3f2a"`)},
		{"Content-Disposition", header("Offers the file for saving, with its name.", text, `attachment; filename="quote-3f2a.pdf"; filename*=UTF-8''quote-3f2a.pdf`)},
		{"Content-Language", header("Language of the file.", text, "ro")},
	}
}

// headerRefs refers to headers by name.
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

// sortedKeys makes the order of a map the same at every start.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
