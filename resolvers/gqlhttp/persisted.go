package gqlhttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/maypok86/otter/v2"

	"siteapi/schema"
)

// persisted resolves documents that clients name by a hash instead of sending them:
// trusted ones, and those that clients have registered themselves (automatic persisted
// queries, APQ). A document is registered only once it has passed all checks, and only
// under its own SHA-256, so the store holds nothing that could not be sent anyway.
type persisted struct {
	docs       *Documents
	registered *otter.Cache[string, string] // SHA-256 in hexadecimal → text; nil: clients can't register
}

// maxRegistered is the longest document a client can register, in bytes.
const maxRegistered = maxKeptText

func newPersisted(size int64, docs *Documents) (*persisted, error) {
	p := &persisted{docs: docs}
	if size < 0 || docs.policy.TrustedOnly {
		return p, nil
	}
	if size == 0 {
		size = 8 << 20
	}
	var err error
	p.registered, err = otter.New(&otter.Options[string, string]{
		MaximumWeight: uint64(size),
		Weigher:       func(hash, text string) uint32 { return uint32(len(hash) + len(text) + 128) },
	})
	if err != nil {
		return nil, fmt.Errorf("making the store of persisted documents: %w", err)
	}
	return p, nil
}

// resolve fills in the document of a request that names one. The hash it returns is to
// be registered once the document has passed all checks; usually it is empty.
func (p *persisted) resolve(req *request) (register string, refused *refusal) {
	id, refused := req.documentName()
	if refused != nil {
		return "", refused
	}
	if id == "" {
		if req.query == "" {
			return "", badRequest("The request has no query.")
		}
		return "", nil
	}
	if req.query != "" {
		return p.offered(id, req.query)
	}
	if doc, ok := p.docs.trusted(id); ok {
		req.query, req.doc = doc.text, doc
		return "", nil
	}
	if p.registered != nil {
		if text, ok := p.registered.GetIfPresent(id); ok {
			req.query = text
			return "", nil
		}
	}
	return "", p.unknown()
}

// offered checks the hash that came with a whole document.
func (p *persisted) offered(id, query string) (register string, refused *refusal) {
	if doc, ok := p.docs.trusted(id); ok && doc.text == query {
		return "", nil
	}
	if p.registered == nil {
		return "", nil // the document itself decides
	}
	if hashText(query) != id {
		return "", badRequest("The hash is not the SHA-256 of the query.")
	}
	if len(query) > maxRegistered {
		return "", nil
	}
	return id, nil
}

// register keeps a document that has passed all checks.
func (p *persisted) register(hash, text string) { p.registered.Set(hash, text) }

// unknown is the answer where there is no document of the name.
func (p *persisted) unknown() *refusal {
	e := &refusal{status: http.StatusBadRequest, wellFormed: true}
	switch {
	case p.docs.policy.TrustedOnly:
		e.code, e.message = CodeNotTrusted, "Only trusted documents are accepted here."
	case p.registered == nil:
		e.code, e.message = CodePersistedQueryNotSupported, "PersistedQueryNotSupported"
	default:
		e.code, e.message = CodePersistedQueryNotFound, "PersistedQueryNotFound"
	}
	return e
}

// documentName returns the id a request names its document by, empty where it has none:
// `documentId` of the draft on persisted documents, or Apollo's extension.
func (req *request) documentName() (string, *refusal) {
	if req.documentID != "" {
		return strings.TrimPrefix(req.documentID, "sha256:"), nil
	}
	extension, ok := req.extensions["persistedQuery"]
	if !ok || extension == nil {
		return "", nil
	}
	fields, ok := extension.(map[string]any)
	if !ok {
		return "", badRequest("extensions.persistedQuery has to be an object.")
	}
	if version, ok := fields["version"].(json.Number); !ok || version != "1" {
		return "", &refusal{
			status: http.StatusBadRequest, code: schema.CodeBadUserInput,
			message: "extensions.persistedQuery.version has to be 1.",
		}
	}
	hash, ok := fields["sha256Hash"].(string)
	if !ok || hash == "" || len(hash) > maxDocumentName {
		return "", badRequest("extensions.persistedQuery.sha256Hash has to be a hash.")
	}
	return hash, nil
}

// maxDocumentName is the longest id of a document, in bytes.
const maxDocumentName = 256
