package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
	"siteapi/schema/operations"
	"siteapi/schema/request"
	"siteapi/schema/strictjson"
)

// convert converts a parameter to a type. A text that does not fit the type is returned
// unchanged, and the executor rejects it together with all other invalid values. Booleans
// may be in any letter case, because URLs are also typed by hand.
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

// bindParameters adds the variables from the path and the query string. A missing
// parameter adds no variable, and an unknown parameter is ignored. An empty parameter
// counts as missing, unless its type is Boolean or String.
func (rt *Route) bindParameters(r *http.Request, vars map[string]any) *schema.Error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil && len(rt.query) > 0 {
		return schema.BadRequest(
			"The query string is malformed: check its % escapes, and separate parameters with &.",
		)
	}
	for _, p := range rt.segments {
		values[p.Name] = []string{r.PathValue(p.Name)}
	}
	return BindTexts(values, slices.Concat(rt.segments, rt.query), vars)
}

// BindTexts adds the variables from texts: parameters, or the fields of a form. Only that of a
// list may be given several times.
func BindTexts(values url.Values, to []operations.Argument, vars map[string]any) *schema.Error {
	var wrong []schema.FieldError
	for _, p := range to {
		given, typ, isList := values[p.Name], p.Type.Name(), p.Type.Elem != nil
		switch {
		case len(given) == 0, len(given) == 1 && given[0] == "" && typ != "Boolean" && typ != "String":
			// The parameter is missing.
		case len(given) > 1 && !isList:
			wrong = append(wrong, schema.Invalid(p.Name, schema.FieldCodeRepeated, "must be given only once"))
		case slices.ContainsFunc(given, func(text string) bool { return !utf8.ValidString(text) }):
			wrong = append(wrong, schema.Invalid(p.Name, schema.FieldCodeUnreadable, "must be UTF-8"))
		case isList:
			list := make([]any, len(given))
			for i, text := range given {
				list[i] = convert(typ, text)
			}
			vars[p.Name] = list
		default:
			vars[p.Name] = convert(typ, given[0])
		}
	}

	if len(wrong) == 0 {
		return nil
	}
	return &schema.Error{
		Code:    schema.CodeBadUserInput,
		Message: "The request has invalid parameters.",
		Fields:  wrong,
	}
}

// bind returns the operation's variables, and a context whose caller has the body. It
// checks the token before the body is read, and a signature before the body is decoded.
func (rt *Route) bind(
	w http.ResponseWriter, r *http.Request, executor operations.Executor,
) (context.Context, map[string]any, *schema.Error) {
	ctx, vars := r.Context(), map[string]any{}
	if problem := executor.CheckToken(ctx, rt.Root.Definition); problem != nil {
		return ctx, nil, problem
	}
	if rt.Form && !sameOrigin(r) {
		return ctx, nil, schema.NewError(schema.CodeForbidden,
			"Only a page of this service may send this form.")
	}

	if rt.HasBody() {
		// A body without a Content-Type is assumed to have an accepted one.
		raw, problem := request.ReadBody(w, r, rt.BodyLimit, append(slices.Clip(rt.Accepts), "")...)
		if problem != nil {
			return ctx, nil, problem
		}

		ctx = request.WithBody(ctx, raw)
		if problem := executor.Authorize(ctx, rt.Root.Definition); problem != nil {
			return ctx, nil, problem
		}
		decode := rt.decode
		if rt.Form {
			decode = rt.decodeForm
		}
		if problem := decode(raw, vars); problem != nil {
			return ctx, nil, problem
		}
	}
	return ctx, vars, rt.bindParameters(r, vars)
}

// decode adds the variables from the body.
func (rt *Route) decode(raw []byte, vars map[string]any) *schema.Error {
	value, err := strictjson.Decode(raw)
	if err != nil {
		return schema.BadRequest("The body is " + err.Error() + ".")
	}
	given, isObject := value.(map[string]any)
	if !isObject && (rt.body == nil || rt.body.Definition.Kind == ast.InputObject) {
		return schema.BadRequest("The body must be a JSON object.")
	}

	if rt.body != nil {
		vars[rt.body.Name] = value
	}
	for _, field := range rt.fields {
		if v, ok := given[field.Name]; ok {
			vars[field.Name] = v
		}
	}
	return nil
}

// decodeForm adds the variables from the fields of a form.
func (rt *Route) decodeForm(raw []byte, vars map[string]any) *schema.Error {
	values, err := url.ParseQuery(string(raw))
	if err != nil {
		return schema.BadRequest("The form is malformed.")
	}
	return BindTexts(values, rt.fields, vars)
}

// sameOrigin reports whether a browser sent a request from a page of this service.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && origin.Host != "" && origin.Host == r.Host
}

// sentNames rewrites the paths of invalid fields within the body, which begin with its
// variable, to the names that the client sent.
func (rt *Route) sentNames(fields []schema.FieldError) []schema.FieldError {
	if rt.body == nil {
		return fields
	}

	out := slices.Clone(fields)
	for i, f := range out {
		name, below, _ := strings.Cut(f.Field, ".")
		if name == rt.body.Name {
			out[i].Field = cmp.Or(below, "body")
		}
	}
	return out
}
