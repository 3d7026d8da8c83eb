package rest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// param is a variable that comes from the query string.
type param struct {
	name       string
	definition *ast.VariableDefinition
	convert    func(string) any
	emptyIsSet bool // an empty text is a value, not a missing one
}

// newParam chooses how a parameter becomes a value of its type. A text that is no such
// value stays a text: the executor refuses it, together with all other invalid values.
func newParam(def *ast.VariableDefinition) param {
	p := param{name: def.Variable, definition: def, convert: asText}
	switch def.Type.NamedType {
	case "Boolean":
		p.convert, p.emptyIsSet = asBoolean, true
	case "Int":
		p.convert = asInt
	case "Float":
		p.convert = asFloat
	case "String":
		p.emptyIsSet = true
	}
	return p
}

// asText is for texts, identifiers and enums, whose values the executor knows.
func asText(s string) any { return s }

// asBoolean takes the two words in any letter case, as people type them into addresses.
func asBoolean(s string) any {
	switch {
	case strings.EqualFold(s, "true"):
		return true
	case strings.EqualFold(s, "false"):
		return false
	default:
		return s
	}
}

// asInt takes whole numbers in decimal.
func asInt(s string) any {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return s
	}
	return n
}

// asFloat takes what JSON calls a number, which is less than what Go does.
func asFloat(s string) any {
	if !json.Valid([]byte(s)) { // keeps out "NaN", "0x1p-2", "1_000"
		return s
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return f
}

// bindQuery adds the variables that stand in the query string. A parameter that is
// missing is left out, one that the route does not know is ignored.
func (rt *route) bindQuery(r *http.Request, vars map[string]any) *schema.Error {
	if len(rt.params) == 0 || r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badRequest("The query string is malformed: check its % escapes, and separate parameters with &.")
	}
	var wrong []schema.FieldError
	for _, p := range rt.params {
		given := values[p.name]
		switch {
		case len(given) == 0 || (given[0] == "" && len(given) == 1 && !p.emptyIsSet):
		case len(given) > 1:
			wrong = append(wrong, schema.FieldError{
				Field: p.name, Code: schema.FieldCodeRepeated, Message: "must be given only once",
			})
		case !utf8.ValidString(given[0]) || strings.IndexByte(given[0], 0) >= 0:
			wrong = append(wrong, schema.FieldError{
				Field: p.name, Code: schema.FieldCodeUnreadable, Message: "must be UTF-8 text without NUL characters",
			})
		default:
			vars[p.name] = p.convert(given[0])
		}
	}
	if len(wrong) > 0 {
		return &schema.Error{Code: schema.CodeBadUserInput, Message: "The request has invalid parameters.", Fields: wrong}
	}
	return nil
}

// badRequest is a problem with the request as a whole rather than with a field of it.
func badRequest(message string) *schema.Error {
	return &schema.Error{Code: schema.CodeBadUserInput, Message: message}
}
