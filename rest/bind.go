package rest

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
	"siteapi/schema/operations"
	"siteapi/schema/strictjson"
)

// convert turns a parameter into a value of a type. A text that does not fit the type
// stays a text, and the executor refuses it together with all other invalid values.
// Booleans may be in any letter case, because addresses are also typed by hand.
func convert(typ, s string) any {
	switch typ {
	case "Boolean":
		if isTrue := strings.EqualFold(s, "true"); isTrue || strings.EqualFold(s, "false") {
			return isTrue
		}
	case "Int", "Float":
		var n json.Number
		if s != "" && s[0] != '"' && json.Unmarshal([]byte(s), &n) == nil {
			return n
		}
	}
	return s
}

// bindPath adds the variables that are segments of the path.
func (rt *route) bindPath(path string, vars map[string]any) *schema.Error {
	if len(rt.segments) == 0 {
		return nil
	}

	values, segments := strings.Split(path, "/"), strings.Split(rt.path, "/")
	for _, p := range rt.segments {
		value := values[slices.Index(segments, "{"+p.Name+"}")]
		if !utf8.ValidString(value) {
			return invalidParameters(notUTF8(p.Name))
		}
		vars[p.Name] = convert(p.Type.NamedType, value)
	}
	return nil
}

func notUTF8(parameter string) schema.FieldError {
	return schema.FieldError{Field: parameter, Code: schema.FieldCodeUnreadable, Message: "must be UTF-8"}
}

func invalidParameters(fields ...schema.FieldError) *schema.Error {
	return &schema.Error{
		Code:    schema.CodeBadUserInput,
		Message: "The request has invalid parameters.",
		Fields:  fields,
	}
}

// bindQuery adds the variables that come from the query string. A missing parameter is
// left out, and one that the route does not know is ignored. An empty parameter counts as
// missing, unless its type is Boolean or String.
func (rt *route) bindQuery(r *http.Request, vars map[string]any) *schema.Error {
	if len(rt.params) == 0 {
		return nil
	}

	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badRequest(
			"The query string is malformed: check its % escapes, and separate parameters with &.",
		)
	}

	var wrong []schema.FieldError
	for _, p := range rt.params {
		given, typ := values[p.Name], p.Type.NamedType
		switch {
		case len(given) == 0, len(given) == 1 && given[0] == "" && typ != "Boolean" && typ != "String":
			// The parameter is missing.

		case len(given) > 1:
			wrong = append(wrong, schema.FieldError{
				Field:   p.Name,
				Code:    schema.FieldCodeRepeated,
				Message: "must be given only once",
			})

		case !utf8.ValidString(given[0]):
			wrong = append(wrong, notUTF8(p.Name))

		default:
			vars[p.Name] = convert(typ, given[0])
		}
	}

	if len(wrong) > 0 {
		return invalidParameters(wrong...)
	}
	return nil
}

// bind returns the operation's variables, and its context, whose caller has the body. It
// checks the token before the body is read, and a signature before the body is decoded.
func (rt *route) bind(
	w http.ResponseWriter, r *http.Request, executor operations.Executor,
) (context.Context, map[string]any, *schema.Error) {
	ctx, vars := r.Context(), map[string]any{}
	if problem := codedError(executor.CheckToken(ctx, rt.Root.Definition)); problem != nil {
		return ctx, nil, problem
	}

	if b := rt.body; b != nil {
		raw, problem := schema.ReadBody(w, r, b.limit)
		if problem != nil {
			return ctx, nil, problem
		}

		ctx = schema.WithBody(ctx, raw)
		if problem := codedError(executor.Authorize(ctx, rt.Root.Definition)); problem != nil {
			return ctx, nil, problem
		}

		if problem := b.checkHeaders(r.Header, w.Header()); problem != nil {
			return ctx, nil, problem
		}
		if problem := b.decode(raw, vars); problem != nil {
			return ctx, nil, problem
		}
	}
	if problem := rt.bindPath(r.URL.Path, vars); problem != nil {
		return ctx, nil, problem
	}
	return ctx, vars, rt.bindQuery(r, vars)
}

// codedError returns an error of the executor for the client, or nil if there is none.
func codedError(err error) *schema.Error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*schema.Error](err); ok {
		return known
	}
	return &schema.Error{Code: schema.CodeInternal, Err: err}
}

// checkHeaders refuses a body in a form that the route does not read. A body without a
// Content-Type is assumed to be of a type that the route accepts.
func (b *body) checkHeaders(h, answer http.Header) *schema.Error {
	unsupported := func(message string) *schema.Error {
		return &schema.Error{Code: schema.CodeUnsupportedMediaType, Message: message}
	}

	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		answer.Set("Accept-Encoding", "identity")
		return unsupported("The body has to be sent without a Content-Encoding.")
	}

	given := h.Get("Content-Type")
	if given == "" {
		return nil
	}
	media, params, err := mime.ParseMediaType(given)
	if err != nil || !slices.Contains(b.accepts, media) {
		answer.Set("Accept", strings.Join(b.accepts, ", "))
		return unsupported(
			"The body has to be JSON, sent with the Content-Type " + strings.Join(b.accepts, " or ") + ".",
		)
	}

	switch strings.ToLower(params["charset"]) {
	case "", "utf-8", "utf8", "us-ascii":
		return nil
	default:
		return unsupported("The body has to be in UTF-8.")
	}
}

// decode adds the variables that the body brings.
func (b *body) decode(raw []byte, vars map[string]any) *schema.Error {
	value, err := strictjson.Decode(raw)
	if err != nil {
		return badRequest("The body is " + err.Error() + ".")
	}
	given, isObject := value.(map[string]any)
	if !isObject && (b.variable == nil || b.variable.Definition.Kind == ast.InputObject) {
		return badRequest("The body has to be a JSON object.")
	}

	if b.variable != nil {
		vars[b.variable.Name] = value
	}
	for _, field := range b.fields {
		if v, ok := given[field.Name]; ok {
			vars[field.Name] = v
		}
	}
	return nil
}

// badRequest returns an error about the request as a whole rather than one of its fields.
func badRequest(message string) *schema.Error {
	return &schema.Error{Code: schema.CodeBadUserInput, Message: message}
}

// sentNames rewrites the paths of invalid fields from the root field's arguments, with
// which they begin, to the names that the client sent.
func (rt *route) sentNames(fields []schema.FieldError) []schema.FieldError {
	out := slices.Clone(fields)
	for i, f := range out {
		end := strings.IndexAny(f.Field+".", ".[")
		sent, known := rt.sentAs[f.Field[:end]]

		switch below := strings.TrimPrefix(f.Field[end:], "."); {
		case !known:
		case sent != "":
			out[i].Field = sent + f.Field[end:]
		case below != "":
			out[i].Field = below
		default:
			out[i].Field = "body"
		}
	}
	return out
}
