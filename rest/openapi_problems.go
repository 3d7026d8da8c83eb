package rest

import (
	"encoding/json"
	"net/http"
	"strings"

	"siteapi/schema"
)

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
			{"content", problemContent(NewProblem(example, exampleRequestID))},
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

// text describes a string.
func text(description string) object {
	return object{{"type", "string"}, {"description", description}}
}

// problemSchemas describes Problem and schema.FieldError.
func problemSchemas() object {
	codes := []any{}
	for _, code := range schema.Codes() {
		codes = append(codes, code)
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
		{"FieldError", fieldErrorSchema()},
	}
}

// fieldErrorSchema describes schema.FieldError.
func fieldErrorSchema() object {
	bounds := object{
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
	}

	return object{
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
				{"properties", bounds},
			}},
			{"message", text("What is wrong with it, in English.")},
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
