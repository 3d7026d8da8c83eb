// Package graphqlhttp serves GraphQL over HTTP, as the current draft of that name
// describes it, with an executor of gqlgen.
//
// A request passes cheap checks first: size, media type, strict JSON, then limits on the
// parsed document. Validation comes last, since it takes more than linear time on hostile
// documents. Parsed documents are cached, and so are the responses of public queries, for
// as long as the content that they were made from is current. A validation failure is
// 400, not the newer draft's 422, because the public audit suite asks for it.
package graphqlhttp

import (
	"context"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/resolvers/executor"
	"siteapi/schema"
)

// Streams admits streams of events, which last longer than other requests.
type Streams interface {
	// Begin returns the context of a stream, which ends when it has to. end is called when
	// nothing is written any more.
	Begin(r *http.Request) (ctx context.Context, end func(), refused *schema.Error)
}

// statusClientLeft counts requests whose client did not wait for the answer: these are no
// failures of the service. It is nginx's.
const statusClientLeft = 499

// Options configures a handler.
type Options struct {
	// Executor runs the operations. Its query cache is Documents.
	Executor  *executor.Executor
	Documents *Documents

	// Revision identifies the current content of a locale. It returns false if none is
	// loaded. It is called before each use of a cached response, so it must not do I/O.
	Revision func(locale string) (revision string, ok bool)

	// Load reads the content of a locale that has no revision. Afterwards it has one, unless
	// the content cannot be read now.
	Load func(ctx context.Context, locale string)

	// ContentKey names the content of a locale to shared caches, which may keep an answer
	// made from it for CDNMaxAge. If it is nil, they are told nothing.
	ContentKey func(locale string) string
	CDNMaxAge  time.Duration

	// Streams admits subscriptions.
	Streams Streams
}

// Handler is the GraphQL endpoint, at any path. It finds the caller and the recorder in
// the context of a request.
type Handler struct {
	exec      *executor.Executor
	documents *Documents
	responses *responseCache
	streams   Streams
}

// New returns a handler.
func New(o Options) *Handler {
	return &Handler{
		exec:      o.Executor,
		documents: o.Documents,
		responses: newResponseCache(o),
		streams:   o.Streams,
	}
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, acceptable := negotiate(r.Header["Accept"])
	events := takesEvents(r.Header["Accept"])
	if events && !acceptable {
		m = typeGraphQL // the media type of errors
	}

	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS, POST")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		methodNotAllowed(w, r, m, "GET, HEAD, OPTIONS, POST", "GraphQL is served by GET and POST.")
		return
	}

	if !acceptable && !events {
		notAcceptable(w, r, m, "Answers are "+string(typeGraphQL)+" or "+string(typeJSON)+".")
		return
	}

	raw, refused := read(w, r)
	if refused != nil {
		writeError(w, r, m, refused.Code.Status(), refused)
		return
	}

	key := responseKey{m, r.Method != http.MethodPost, string(raw)}
	preview := schema.CallerFrom(r.Context()).Preview != ""
	if cached := h.responses.get(key); cached != nil && acceptable && !preview {
		schema.RecorderFrom(r.Context()).Operation(cached.operation)
		cached.write(w, r)
		return
	}

	h.serve(w, r, m, raw, key)
}

// serve runs the operation of a request whose response is not cached.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, m mediaType, raw []byte, key responseKey) {
	req, malformed := parse(raw, key.get)
	if malformed != nil {
		writeError(w, r, m, http.StatusBadRequest, malformed) // the same for both media types
		return
	}

	hash, refused := h.documents.resolve(req)
	if refused != nil {
		writeError(w, r, m, statusFor(m, refused.Code), refused)
		return
	}

	recorder := schema.RecorderFrom(r.Context())
	op, errs := h.prepare(req, hash, recorder)
	if op == nil {
		h.fail(w, r, m, errs)
		return
	}

	if key.get && op.Operation != ast.Query {
		methodNotAllowed(w, r, m, "POST", "A GET can only run queries.")
		return
	}

	req.Headers = r.Header
	if op.Operation == ast.Subscription {
		h.stream(w, r, m, req, op, errs)
		return
	}
	if _, acceptable := negotiate(r.Header["Accept"]); !acceptable {
		notAcceptable(w, r, m, "A query or a mutation is answered as JSON.")
		return
	}

	ctx, cancel := context.WithTimeout(schema.WithBody(r.Context(), raw), maxTime)
	defer cancel()

	ctx = graphql.StartOperationTrace(ctx)
	opCtx, errs := h.admit(ctx, req, op, errs)
	if len(errs) > 0 {
		h.fail(w, r, m, errs)
		return
	}

	result, res := h.responses.once(ctx, key, op, opCtx.Variables,
		func(ctx context.Context) (*graphql.Response, *cachedResponse) { return h.run(ctx, m, op, opCtx) })

	if res != nil {
		asked := res.operation
		asked.Cached = result == nil // It is the response to another request.
		recorder.Operation(asked)
		res.write(w, r)
		return
	}
	h.writeResult(w, r, m, op, result)
}

// writeResult answers with a result that is not cached. It is nil if the time was over.
func (h *Handler) writeResult(
	w http.ResponseWriter, r *http.Request, m mediaType, op *operation, result *graphql.Response,
) {
	switch {
	case result == nil && r.Context().Err() != nil: // nobody reads an answer
		w.WriteHeader(statusClientLeft)

	case result == nil:
		writeError(w, r, m, statusFor(m, schema.CodeUpstreamUnavailable), &schema.Error{
			Code:       schema.CodeUpstreamUnavailable,
			Message:    "The operation took too long.",
			RetryAfter: time.Second,
		})

	case len(result.Data) == 0 && len(result.Errors) > 0: // nothing ran
		writeErrors(w, r, m, statusFor(m, schema.ErrorCode(result.Errors[0])), result.Errors)

	default:
		if len(result.Errors) > 0 {
			report(w, r, result.Errors)
		}
		writeUncached(w, r, m, http.StatusOK, encode(m, result, anyNull(result.Data, op.settings)))
	}
}

// run executes an operation. The response is nil if it has errors, or if clients must not
// cache it.
func (h *Handler) run(
	ctx context.Context, m mediaType, op *operation, opCtx *graphql.OperationContext,
) (*graphql.Response, *cachedResponse) {
	next, ctx := h.exec.DispatchOperation(ctx, opCtx)
	result := next(ctx)
	preview := schema.CallerFrom(ctx).Preview != ""
	if result == nil || len(result.Errors) > 0 || !op.cache.cacheable || preview {
		return result, nil
	}

	missing := anyNull(result.Data, op.settings)
	asked := op.summary()
	asked.Public = !op.cache.private && !missing
	asked.Cached = true // the next requests get this response again

	return result, &cachedResponse{
		response:  newResponse(m, op.cache.header(), encode(m, result, missing)),
		operation: asked,
	}
}

// admit checks an operation that is about to run. It returns the errors that were found before,
// unless there are others.
func (h *Handler) admit(
	ctx context.Context, req *request, op *operation, errs gqlerror.List,
) (*graphql.OperationContext, gqlerror.List) {
	if refused := h.exec.Admit(ctx, op.OperationDefinition, req.Variables, false); refused != nil {
		return nil, gqlerror.List{gqlerror.Wrap(refused)}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return h.exec.CreateOperationContext(ctx, &req.RawParams)
}

// prepare checks the document of a request, and registers it if it came with a hash.
// Errors that are returned with an operation are about values written into the document.
// The executor reports these better: all at once, and with their paths.
func (h *Handler) prepare(
	req *request, hash string, recorder schema.Recorder,
) (*operation, gqlerror.List) {
	doc, errs := h.documents.load(req.Query)
	if doc == nil {
		return nil, errs
	}

	op := doc.operation(req.OperationName)
	if op == nil {
		recorder.Operation(h.documents.summarize(doc, req.OperationName))
		if len(doc.operations) == 0 {
			return nil, errs
		}
		return nil, gqlerror.List{
			gqlerror.Wrap(badInput("operationName must name an operation of the document.")),
		}
	}

	recorder.Operation(op.summary())
	if hash != "" && len(errs) == 0 {
		h.documents.registered.Set(hash, req.Query)
	}
	return op, errs
}

// fail answers with errors that kept an operation from running.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, m mediaType, errs gqlerror.List) {
	ctx := graphql.WithOperationContext(r.Context(), &graphql.OperationContext{})
	errs = h.exec.DispatchError(graphql.StartOperationTrace(ctx), shorten(errs)).Errors
	writeErrors(w, r, m, statusFor(m, schema.ErrorCode(errs[0])), errs)
}

// statusFor returns the status for a well-formed request that was not executed.
func statusFor(m mediaType, code schema.Code) int {
	switch {
	case m == typeJSON:
		return http.StatusOK
	case code == CodePersistedQueryNotFound || code == CodeNotTrusted:
		return http.StatusBadRequest
	default:
		return code.Status()
	}
}

func notAcceptable(w http.ResponseWriter, r *http.Request, m mediaType, message string) {
	writeError(w, r, m, http.StatusNotAcceptable, &schema.Error{
		Code:    schema.CodeUnsupportedMediaType,
		Message: message,
	})
}

func methodNotAllowed(w http.ResponseWriter, r *http.Request, m mediaType, allow, message string) {
	w.Header().Set("Allow", allow)
	writeError(w, r, m, http.StatusMethodNotAllowed, &schema.Error{
		Code:    schema.CodeMethodNotAllowed,
		Message: message,
	})
}
