package graphqlhttp

import (
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"

	"siteapi/schema"
	"siteapi/schema/strictjson"
)

// params are a decoded GraphQL request.
type params struct {
	graphql.RawParams
	documentID string // id or hash of the document; empty: none
}

func parse(raw []byte, get bool) (*params, *schema.Error) {
	decode := decodeBody
	if get {
		decode = decodeQueryString
	}
	members, refused := decode(raw)
	if refused != nil {
		return nil, refused
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
		return nil, badInput(wrong)
	}
	if req.Variables == nil {
		req.Variables = map[string]any{}
	}

	if refused := req.setDocumentID(); refused != nil {
		return nil, refused
	}
	if req.Query == "" && req.documentID == "" {
		return nil, badInput("The request has no query.")
	}
	return req, nil
}

// setDocumentID reads the id or hash of the document from `documentId`, by the draft on
// persisted documents, or from Apollo's extension.
func (req *params) setDocumentID() *schema.Error {
	extension := req.Extensions["persistedQuery"]
	if req.documentID != "" || extension == nil {
		req.documentID = strings.TrimPrefix(req.documentID, "sha256:")
		return nil
	}

	fields, _ := extension.(map[string]any)
	if fields["version"] != json.Number("1") {
		return badInput("extensions.persistedQuery.version must be 1.")
	}
	if req.documentID, _ = fields["sha256Hash"].(string); req.documentID == "" {
		return badInput("extensions.persistedQuery.sha256Hash must be a hash.")
	}
	return nil
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

// decodeQueryString reads the parameters of a GET. An empty parameter counts as missing.
func decodeQueryString(raw []byte) (map[string]any, *schema.Error) {
	values, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, badInput("The query string cannot be read.")
	}

	members := map[string]any{}
	for _, name := range []string{"query", "operationName", "documentId", "variables", "extensions"} {
		// The text may be cached, so it must not keep the whole query string in memory.
		text := strings.Clone(values.Get(name))

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
