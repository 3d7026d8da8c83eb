package graphqlhttp

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"

	"siteapi/schema"
	"siteapi/schema/request"
	"siteapi/schema/strictjson"
)

// params are a decoded GraphQL request.
type params struct {
	graphql.RawParams
	documentID string // id or hash of the document; empty: none
}

// read returns the body of a POST, or the query string of another request. It responds to
// OPTIONS.
func (x exchange) read() ([]byte, error) {
	switch x.r.Method {
	case http.MethodPost, http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		x.w.Header().Set("Allow", "GET, HEAD, OPTIONS, POST")
		x.w.WriteHeader(http.StatusNoContent)
		return nil, nil
	default:
		return nil, x.methodNotAllowed("GET, HEAD, OPTIONS, POST", "GraphQL is served by GET and POST.")
	}

	if !x.json && !x.events {
		return nil, notAcceptable("Responses are " + string(typeGraphQL) + " or " + string(typeJSON) + ".")
	}
	if x.r.Method != http.MethodPost {
		return []byte(x.r.URL.RawQuery), nil
	}

	// An untyped body is rejected: a page of another site can send one without a
	// preflight request.
	raw, refused := request.ReadBody(x.w, x.r, maxBody, string(typeJSON))
	if refused != nil {
		return nil, httpError{refused.Code.Status(), refused}
	}
	return raw, nil
}

func (x exchange) methodNotAllowed(allow, message string) error {
	x.w.Header().Set("Allow", allow)
	return httpError{
		http.StatusMethodNotAllowed,
		schema.NewError(schema.CodeMethodNotAllowed, message),
	}
}

// parse decodes a request.
func parse(raw []byte, get bool) (*params, error) {
	decode := decodeBody
	if get {
		decode = decodeQueryString
	}
	members, err := decode(raw)
	if err != nil {
		return nil, err
	}

	wrong := ""
	text := func(name string) string {
		value, ok := members[name].(string)
		if !ok && members[name] != nil {
			wrong = name + " must be a string."
		}
		return value
	}
	object := func(name string) map[string]any {
		value, ok := members[name].(map[string]any)
		if !ok && members[name] != nil {
			wrong = name + " must be an object."
		}
		return value
	}

	req := &params{documentID: text("documentId")}
	req.Query, req.OperationName = text("query"), text("operationName")
	req.Variables, req.Extensions = object("variables"), object("extensions")
	if wrong != "" {
		return nil, malformed(wrong)
	}
	if req.Variables == nil {
		req.Variables = map[string]any{}
	}

	if err := req.setDocumentID(); err != nil {
		return nil, err
	}
	if req.Query == "" && req.documentID == "" {
		return nil, malformed("The request has no query.")
	}
	return req, nil
}

// setDocumentID reads the id or hash of the document from `documentId`, by the draft on
// persisted documents, or from Apollo's extension.
func (req *params) setDocumentID() error {
	extension := req.Extensions["persistedQuery"]
	if req.documentID != "" || extension == nil {
		req.documentID = strings.TrimPrefix(req.documentID, "sha256:")
		return nil
	}

	fields, _ := extension.(map[string]any)
	if fields["version"] != json.Number("1") {
		return malformed("extensions.persistedQuery.version must be 1.")
	}
	if req.documentID, _ = fields["sha256Hash"].(string); req.documentID == "" {
		return malformed("extensions.persistedQuery.sha256Hash must be a hash.")
	}
	return nil
}

func decodeBody(raw []byte) (map[string]any, error) {
	value, err := strictjson.Decode(raw)
	if err != nil {
		return nil, malformed("The request body is " + err.Error() + ".")
	}
	members, ok := value.(map[string]any)
	if !ok {
		return nil, malformed("The request body must be one JSON object; batches are not supported.")
	}
	return members, nil
}

// decodeQueryString reads the parameters of a GET. An empty parameter counts as missing.
func decodeQueryString(raw []byte) (map[string]any, error) {
	values, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, malformed("The query string cannot be read.")
	}

	members := map[string]any{}
	for _, name := range []string{"query", "operationName", "documentId", "variables", "extensions"} {
		// The text may be cached, so it must not keep the whole query string in memory.
		text := strings.Clone(values.Get(name))

		switch {
		case len(values[name]) > 1:
			return nil, malformed("The query string has " + name + " more than once.")
		case !utf8.ValidString(text):
			return nil, malformed(name + " is not valid UTF-8.")
		case text == "":
			continue
		}

		members[name] = text
		if name == "variables" || name == "extensions" {
			if members[name], err = strictjson.Decode([]byte(text)); err != nil {
				return nil, malformed(name + " is " + err.Error() + ".")
			}
		}
	}
	return members, nil
}

func malformed(message string) error {
	return httpError{http.StatusBadRequest, schema.BadRequest(message)}
}
