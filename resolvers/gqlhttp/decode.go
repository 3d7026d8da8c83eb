package gqlhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// request is one GraphQL request as it was sent.
type request struct {
	query      string
	operation  string
	variables  map[string]any // numbers are json.Number; nil: none
	extensions map[string]any
	documentID string

	doc *document // of a request that named a trusted one
	raw []byte    // body or query string
	get bool
}

// decoder reads JSON strictly: no duplicate names, no invalid UTF-8, nothing after the
// value, not too deep, not too much.
type decoder struct {
	limits Limits
	json   *jsontext.Decoder
	data   bytes.Buffer
	values int // read so far
}

func newDecoder(l Limits) *decoder {
	return &decoder{limits: l, json: jsontext.NewDecoder(bytes.NewReader(nil))}
}

func (d *decoder) reset(data []byte) {
	d.data = *bytes.NewBuffer(data)
	d.json.Reset(&d.data)
	d.values = 0
}

// Errors of values that are JSON but not acceptable.
var (
	errTooDeep = errors.New("nested too deeply")
	errTooMany = errors.New("too many values")
)

// body reads the body of a POST.
func (d *decoder) body(data []byte, req *request) *refusal {
	d.reset(data)
	switch d.json.PeekKind() {
	case '{':
	case '[':
		return badRequest("Batches are not supported: send one request at a time.")
	default:
		if len(bytes.TrimSpace(data)) == 0 {
			return badRequest("The request has no body.")
		}
		if _, err := d.json.ReadValue(); err != nil {
			return d.problem(err)
		}
		return badRequest("The request body has to be a JSON object.")
	}
	if err := d.object(req); err != nil {
		return d.problem(err)
	}
	if _, err := d.json.ReadToken(); !errors.Is(err, io.EOF) {
		return badRequest("The request body has to be one JSON object and nothing more.")
	}
	return nil
}

// shapeError says that a member of the request has the wrong type.
type shapeError struct{ member, want string }

func (e *shapeError) Error() string { return fmt.Sprintf("%s has to be %s.", e.member, e.want) }

// object reads the members of a request. Those it does not know are left out.
func (d *decoder) object(req *request) error {
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for d.json.PeekKind() != '}' {
		token, err := d.json.ReadToken()
		if err != nil {
			return err
		}
		switch name := token.String(); name {
		case "query":
			err = d.text(name, &req.query)
		case "operationName":
			err = d.text(name, &req.operation)
		case "documentId":
			err = d.text(name, &req.documentID)
		case "variables":
			err = d.members(name, &req.variables)
		case "extensions":
			err = d.members(name, &req.extensions)
		default:
			err = d.json.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

// text reads a string or null.
func (d *decoder) text(member string, to *string) error {
	switch d.json.PeekKind() {
	case '"', 'n', 0:
	default:
		return &shapeError{member, "a string"}
	}
	token, err := d.json.ReadToken()
	if err == nil && token.Kind() == '"' {
		*to = token.String()
	}
	return err
}

// members reads an object or null.
func (d *decoder) members(member string, to *map[string]any) error {
	switch d.json.PeekKind() {
	case '{', 'n', 0:
	default:
		return &shapeError{member, "an object"}
	}
	raw, err := d.json.ReadValue()
	if err != nil {
		return err
	}
	if err := d.measure(raw); err != nil {
		return err
	}
	value, err := (&decoder{limits: d.limits, json: jsontext.NewDecoder(bytes.NewReader(raw))}).value()
	if err != nil {
		return err
	}
	*to, _ = value.(map[string]any)
	return nil
}

// measure bounds the depth and the number of values of valid JSON before anything is
// built from it.
func (d *decoder) measure(raw []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch ch := raw[i]; {
		case inString && ch == '\\':
			i++
		case ch == '"':
			inString = !inString
		case inString:
		case ch == '{' || ch == '[':
			if depth++; depth > d.limits.ValueDepth {
				return errTooDeep
			}
			d.values++
		case ch == '}' || ch == ']':
			depth--
		case ch == ',':
			d.values++
		}
		if d.values > d.limits.Values {
			return errTooMany
		}
	}
	return nil
}

// value reads any value.
func (d *decoder) value() (any, error) {
	token, err := d.json.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		return nil, nil //nolint:nilnil // JSON's null
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return json.Number(token.String()), nil
	case '[':
		list := []any{}
		for d.json.PeekKind() != ']' {
			item, err := d.value()
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = d.json.ReadToken()
		return list, err
	default:
		fields := map[string]any{}
		for d.json.PeekKind() != '}' {
			name, err := d.json.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if fields[key], err = d.value(); err != nil {
				return nil, err
			}
		}
		_, err = d.json.ReadToken()
		return fields, err
	}
}

// problem words what is wrong with a body, without repeating any of it.
func (d *decoder) problem(err error) *refusal {
	var shape *shapeError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &shape):
		return badRequest(shape.Error())
	case errors.Is(err, errTooDeep):
		return badRequest("The request's values are nested too deeply.")
	case errors.Is(err, errTooMany):
		return badRequest("The request has too many values.")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return badRequest("The request names a member of an object twice.")
	case errors.As(err, &syntax):
		return badRequest(fmt.Sprintf("The request is not valid JSON in UTF-8, at byte %d.", syntax.ByteOffset))
	default:
		return badRequest("The request is not valid JSON in UTF-8.")
	}
}

// queryString reads the parameters of a GET. Empty ones count as left out.
func (d *decoder) queryString(raw string, req *request) *refusal {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return badRequest("The query string can't be read.")
	}
	texts := map[string]*string{
		"query": &req.query, "operationName": &req.operation, "documentId": &req.documentID,
	}
	for name, to := range texts {
		text, refused := single(values, name)
		if refused != nil {
			return refused
		}
		*to = text
	}
	for _, name := range []string{"variables", "extensions"} {
		text, refused := single(values, name)
		if refused != nil {
			return refused
		}
		if text == "" {
			continue
		}
		to := &req.variables
		if name == "extensions" {
			to = &req.extensions
		}
		d.reset([]byte(text))
		if err := d.members(name, to); err != nil {
			return d.problem(err)
		}
		if _, err := d.json.ReadToken(); !errors.Is(err, io.EOF) {
			return badRequest(name + " has to be one JSON object and nothing more.")
		}
	}
	return nil
}

// single returns a parameter that may be given once.
func single(values url.Values, name string) (string, *refusal) {
	given := values[name]
	if len(given) > 1 {
		return "", badRequest("The query string has " + name + " more than once.")
	}
	if len(given) == 0 {
		return "", nil
	}
	if !utf8.ValidString(given[0]) {
		return "", badRequest(name + " is not valid UTF-8.")
	}
	return given[0], nil
}
