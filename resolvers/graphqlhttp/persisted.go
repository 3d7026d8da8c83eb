package graphqlhttp

import (
	"crypto/sha256"
	"encoding/hex"

	"siteapi/schema"
)

// Error codes in addition to those of package schema.
const (
	// CodePersistedQueryNotFound asks an APQ client to send the whole document.
	CodePersistedQueryNotFound schema.Code = "PERSISTED_QUERY_NOT_FOUND"
	// CodeNotTrusted refuses a document that is not one of the trusted documents.
	CodeNotTrusted schema.Code = "QUERY_NOT_IN_SAFELIST"
)

var (
	errNotFound   = &schema.Error{Code: CodePersistedQueryNotFound, Message: "PersistedQueryNotFound"}
	errNotTrusted = &schema.Error{Code: CodeNotTrusted, Message: "Only trusted documents are accepted here."}
)

// Memory for automatic persisted queries (APQ).
const (
	registeredBytes  = 8 << 20
	registeredWeight = 256 // bytes for each document beside its text
)

// resolve fills in the document of a request that names one: a trusted document, or one
// that a client has registered (APQ). The hash that it returns, which is usually empty,
// must be registered once the document has passed all checks.
func (d *Documents) resolve(req *request) (hash string, _ *schema.Error) {
	switch id := req.documentID; {
	case id == "", req.Query != "" && (d.TrustedOnly || d.byID[id] == req.Query):
		return "", nil
	case req.Query != "" && hashText(req.Query) != id:
		return "", badInput("The hash is not the SHA-256 of the query.")
	case req.Query != "":
		return id, nil
	}

	text, ok := d.byID[req.documentID]
	if !ok && !d.TrustedOnly {
		text, ok = d.registered.GetIfPresent(req.documentID)
	}

	switch {
	case ok:
		req.Query = text
		return "", nil
	case d.TrustedOnly:
		return "", errNotTrusted
	default:
		return "", errNotFound
	}
}

func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
