package graphqlhttp

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"

	"siteapi/schema"
	"siteapi/schema/strictjson"
)

// request is one GraphQL request as it was sent.
type request struct {
	graphql.RawParams
	documentID string
}

// maxPreallocated is how much memory a request gets before its body arrives, in bytes.
const maxPreallocated = 64 << 10

// read returns the body of a POST or the query string of a GET, or the status and the error to answer with.
func read(r *http.Request) ([]byte, int, *schema.Error) {
	tooLarge := &schema.Error{Code: schema.CodePayloadTooLarge, Message: "The request is larger than 1 MiB."}
	if r.Method != http.MethodPost {
		if len(r.URL.RawQuery) > maxBody {
			return nil, http.StatusRequestEntityTooLarge, tooLarge
		}
		return []byte(r.URL.RawQuery), 0, nil
	}
	if !isJSON(r.Header) {
		return nil, http.StatusUnsupportedMediaType, &schema.Error{
			Code:    schema.CodeUnsupportedMediaType,
			Message: "The body of a POST must be application/json in UTF-8, without a content encoding.",
		}
	}
	if r.ContentLength > maxBody {
		return nil, http.StatusRequestEntityTooLarge, tooLarge
	}
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), maxPreallocated)) + bytes.MinRead)
	_, err := body.ReadFrom(http.MaxBytesReader(nil, r.Body, maxBody))
	if err == nil {
		return body.Bytes(), 0, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, http.StatusRequestEntityTooLarge, tooLarge
	}
	if refused, ok := errors.AsType[*schema.Error](err); ok { // by the server's own limits
		return nil, refused.Code.Status(), refused
	}
	return nil, http.StatusBadRequest, badInput("The request body could not be read.")
}

// parse reads the parameters of a request.
func parse(raw []byte, get bool) (*request, *schema.Error) {
	decode := decodeBody
	if get {
		decode = decodeQueryString
	}
	members, refused := decode(raw)
	if refused != nil {
		return nil, refused
	}
	req, ok := &request{}, false
	for name, to := range map[string]*string{
		"query": &req.Query, "operationName": &req.OperationName, "documentId": &req.documentID,
	} {
		if *to, ok = members[name].(string); !ok && members[name] != nil {
			return nil, badInput(name + " must be a string.")
		}
	}
	for name, to := range map[string]*map[string]any{"variables": &req.Variables, "extensions": &req.Extensions} {
		if *to, ok = members[name].(map[string]any); !ok && members[name] != nil {
			return nil, badInput(name + " must be an object.")
		}
	}
	if req.Variables == nil {
		req.Variables = map[string]any{}
	}
	return req, nil
}

func decodeBody(raw []byte) (map[string]any, *schema.Error) {
	value, err := strictjson.Decode(raw)
	if err != nil {
		return nil, badInput("The request body is " + err.Error() + ".")
	}
	members, ok := value.(map[string]any)
	if !ok {
		return nil, badInput("The request body must be one JSON object; batches are not supported.")
	}
	return members, nil
}

// decodeQueryString reads the parameters of a GET. Empty ones count as left out.
func decodeQueryString(raw []byte) (map[string]any, *schema.Error) {
	values, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, badInput("The query string cannot be read.")
	}
	members := map[string]any{}
	for _, name := range []string{"query", "operationName", "documentId", "variables", "extensions"} {
		text := values.Get(name)
		switch {
		case len(values[name]) > 1:
			return nil, badInput("The query string has " + name + " more than once.")
		case !utf8.ValidString(text):
			return nil, badInput(name + " is not valid UTF-8.")
		case text == "":
			continue
		}
		members[name] = text
		if name == "variables" || name == "extensions" {
			if members[name], err = strictjson.Decode([]byte(text)); err != nil {
				return nil, badInput(name + " is " + err.Error() + ".")
			}
		}
	}
	return members, nil
}

func badInput(message string) *schema.Error {
	return &schema.Error{Code: schema.CodeBadUserInput, Message: message}
}
