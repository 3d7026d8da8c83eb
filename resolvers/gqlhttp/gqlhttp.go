// Package gqlhttp is the GraphQL door: GraphQL over HTTP, to the current draft of
// that name, in front of an executor.
//
// What comes in passes cheap checks first: size, media type, strict JSON, then limits
// on the parsed document, and only then validation, which costs more than linear time
// on hostile documents. Parsed documents are kept, and so are finished answers of
// public queries, as bytes, for as long as the content they were made from.
//
// The door answers application/json clients with status 200 whenever a request was
// well-formed, whatever became of it, and clients that prefer
// application/graphql-response+json with 4xx where nothing was executed. There are no
// batches, subscriptions, uploads or incremental answers. A validation failure is 400,
// not the newer draft's 422, because the public audit suite asks for it.
package gqlhttp

import (
	"errors"
	"net/http"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"siteapi/schema"
)

// Options is what a door is made of.
type Options struct {
	// Exec runs operations. Its query cache has to be Documents. Required.
	Exec graphql.GraphExecutor
	// Documents parses, checks and keeps documents. Required.
	Documents *Documents
	// Revision names the content of a locale as it is right now; false where none is at
	// hand. It is asked for each kept answer, so it must not do any I/O. A name must stand
	// for one content only. Nil: no answers are kept. What the door can't see is content
	// that changes and changes back while one operation reads it.
	Revision func(locale string) (revision string, ok bool)
	// AnswerBytes is how much memory kept answers may take; 0: 16 MiB, negative: none are kept.
	AnswerBytes int64
	// PersistedBytes is how much memory documents registered by clients (APQ) may take;
	// 0: 8 MiB, negative: clients can't register any.
	PersistedBytes int64
	// RequireHeader refuses GET requests that another site's page could cause without
	// asking, which are those without one of the headers of [PreflightHeaders]. Queries
	// change nothing and answers are not readable across origins, so this is off by
	// default: urql and graphql-request send no such header.
	RequireHeader bool
	// Caller says who sent the request that is answered by w: putting a caller into the
	// context of each request would cost those that a kept answer is sent to more than
	// anything else about it. Nil: the caller is in the context.
	Caller func(w http.ResponseWriter, r *http.Request) *schema.Caller
	// Observe is told about each request once it is answered. It may be called
	// concurrently and must be quick. Nil: nobody is told.
	Observe func(w http.ResponseWriter, r *http.Request, e Event)
}

// Handler is the GraphQL door. It serves any path it is mounted at.
type Handler struct {
	exec          graphql.GraphExecutor
	docs          *Documents
	limits        Limits
	answers       *answers
	persisted     *persisted
	requireHeader bool
	caller        func(w http.ResponseWriter, r *http.Request) *schema.Caller
	observe       func(w http.ResponseWriter, r *http.Request, e Event)

	decoders sync.Pool // *decoder
	buffers  sync.Pool // *buffer
}

// New returns a door.
func New(o Options) (*Handler, error) {
	if o.Exec == nil || o.Documents == nil {
		return nil, errors.New("a GraphQL door needs an executor and documents")
	}
	h := &Handler{
		exec: o.Exec, docs: o.Documents, limits: o.Documents.limits,
		requireHeader: o.RequireHeader, caller: o.Caller, observe: o.Observe,
	}
	var err error
	if h.answers, err = newAnswers(o.AnswerBytes, o.Revision); err != nil {
		return nil, err
	}
	if h.persisted, err = newPersisted(o.PersistedBytes, o.Documents); err != nil {
		return nil, err
	}
	h.decoders.New = func() any { return newDecoder(h.limits) }
	h.buffers.New = func() any { return &buffer{data: make([]byte, 0, 4<<10)} }
	return h, nil
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		h.servePost(w, r)
	case http.MethodGet, http.MethodHead:
		h.serveGet(w, r)
	case http.MethodOptions:
		w.Header().Set("Allow", allowAll)
		w.WriteHeader(http.StatusNoContent)
	default:
		m, _ := negotiate(r.Header["Accept"])
		h.refuse(w, r, m, &refusal{
			status: http.StatusMethodNotAllowed, code: schema.CodeMethodNotAllowed, allow: allowAll,
			message: "GraphQL is served by GET and POST.",
		})
	}
}

// Methods as they stand in the Allow header.
const (
	allowAll  = "GET, HEAD, OPTIONS, POST"
	allowPost = "POST"
)

// buffer is memory that is used again by later requests.
type buffer struct{ data []byte }

// maxPooled is the largest buffer that is kept for later requests, in bytes.
const maxPooled = 64 << 10

func (h *Handler) buffer() *buffer { return h.buffers.Get().(*buffer) }

func (h *Handler) release(b *buffer) {
	if cap(b.data) <= maxPooled {
		b.data = b.data[:0]
		h.buffers.Put(b)
	}
}
