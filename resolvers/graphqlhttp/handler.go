// Package graphqlhttp implements the current draft of GraphQL over HTTP with gqlgen's
// executor.
//
// A request passes cheap checks first: size, media type, strict JSON, then limits on the
// parsed document. Validation comes last, since it takes more than linear time on hostile
// documents. Parsed documents are cached, and so are the responses of public queries, as
// long as the content that they were built from is current. A validation failure is 400,
// not the newer draft's 422, because the public audit suite requires it.
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
	"siteapi/schema/request"
)

// Options configures a handler.
type Options struct {
	// Executor runs the operations. Its query cache is Documents.
	Executor  *executor.Executor
	Documents *Documents

	// Revision returns the revision of the current content of a locale, or false if none
	// is loaded. It is called before each use of a cached response, so it must not do
	// I/O.
	Revision func(locale string) (revision string, ok bool)

	// Load reads the content of a locale for which Revision returned false. Afterwards
	// Revision returns true, unless reading failed.
	Load func(ctx context.Context, locale string)

	// ContentKey returns the key of a locale's content for shared caches, which may store
	// a response built from it for CDNMaxAge. nil: responses have no headers for shared
	// caches.
	ContentKey func(locale string) string
	CDNMaxAge  time.Duration

	// BeginStream admits a stream of events, which lasts longer than other requests. It
	// returns the context that limits the stream. end is called after the last write.
	BeginStream func(r *http.Request) (ctx context.Context, end func(), refused *schema.Error)
}

// Handler is the GraphQL endpoint, at any path. It gets the caller and the recorder from
// the context of a request.
type Handler struct {
	Options
	responses *responseCache
}

// New returns a handler.
func New(o Options) *Handler { return &Handler{o, newResponseCache(o)} }

// ServeHTTP handles one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchange{w, r, negotiate(r.Header["Accept"])}
	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS, POST")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		x.methodNotAllowed("GET, HEAD, OPTIONS, POST", "GraphQL is served by GET and POST.")
		return
	}

	if !x.json && !x.events {
		x.notAcceptable("Responses are " + string(typeGraphQL) + " or " + string(typeJSON) + ".")
		return
	}

	raw := []byte(r.URL.RawQuery)
	if r.Method == http.MethodPost {
		// An untyped body is rejected: a page of another site can send one without a
		// preflight request.
		var refused *schema.Error
		if raw, refused = request.ReadBody(w, r, maxBody, string(typeJSON)); refused != nil {
			x.error(refused.Code.Status(), refused)
			return
		}
	}

	key := responseKey{x.media, r.Method != http.MethodPost, string(raw)}
	preview := request.CallerFrom(r.Context()).Preview != ""
	if cached := h.responses.get(key); cached != nil && x.json && !preview {
		request.RecorderFrom(r.Context()).Operation(cached.operation)
		cached.write(w, r)
		return
	}

	h.serve(x, raw, key)
}

// serve runs the operation of a request whose response is not cached.
func (h *Handler) serve(x exchange, raw []byte, key responseKey) {
	req, malformed := parse(raw, key.get)
	if malformed != nil {
		x.error(http.StatusBadRequest, malformed) // the same for both media types
		return
	}
	recorder := request.RecorderFrom(x.r.Context())
	op, errs := h.prepare(req, recorder)
	if op == nil {
		h.fail(x, errs)
		return
	}

	req.Headers = x.r.Header
	switch {
	case key.get && op.Operation != ast.Query:
		x.methodNotAllowed("POST", "A GET can only run queries.")
		return
	case op.Operation == ast.Subscription:
		h.stream(x, req, op)
		return
	case !x.json:
		x.notAcceptable("The response to a query or a mutation is JSON.")
		return
	}

	ctx, cancel := context.WithTimeout(request.WithBody(x.r.Context(), raw), maxTime)
	defer cancel()
	ctx = graphql.StartOperationTrace(ctx)
	opCtx, errs := h.admit(ctx, req, op)
	if len(errs) > 0 {
		h.fail(x, errs)
		return
	}

	result, res := h.responses.once(ctx, key, op, opCtx.Variables,
		func(ctx context.Context) (*graphql.Response, *cachedResponse) { return h.run(ctx, x.media, op, opCtx) })
	if res == nil {
		x.result(op, result)
		return
	}
	asked := res.operation
	asked.Cached = result == nil // It is the response of another request.
	recorder.Operation(asked)
	res.write(x.w, x.r)
}

// run executes an operation. The cached response is nil if the result has errors or must
// not be cached.
func (h *Handler) run(
	ctx context.Context, m mediaType, op *operation, opCtx *graphql.OperationContext,
) (*graphql.Response, *cachedResponse) {
	next, ctx := h.Executor.DispatchOperation(ctx, opCtx)
	result := next(ctx)
	preview := request.CallerFrom(ctx).Preview != ""
	if result == nil || len(result.Errors) > 0 || !op.cacheable || preview {
		return result, nil
	}

	missing := anyNull(result.Data, op.settings)
	asked := op.summary()
	asked.Public = !missing
	asked.Cached = true // later requests get this response from the cache
	return result, &cachedResponse{response: newResponse(m, encode(m, result, missing)), operation: asked}
}

// prepare finds the operation of a request in its document, and registers the document if
// the request has its hash.
func (h *Handler) prepare(req *params, recorder request.Recorder) (*operation, gqlerror.List) {
	hash, refused := h.Documents.resolve(req)
	if refused != nil {
		return nil, gqlerror.List{gqlerror.Wrap(refused)}
	}
	operations, errs := h.Documents.load(req.Query)
	if len(errs) > 0 {
		return nil, errs
	}

	for _, op := range operations {
		if op.Name != req.OperationName && (req.OperationName != "" || len(operations) > 1) {
			continue
		}
		recorder.Operation(op.summary())
		if hash != "" && len(op.wrong) == 0 {
			h.Documents.registered.Set(hash, req.Query)
		}
		return op, nil
	}
	return nil, gqlerror.List{gqlerror.Wrap(badInput("operationName must name an operation of the document."))}
}

// admit checks an operation before it runs.
func (h *Handler) admit(
	ctx context.Context, req *params, op *operation,
) (*graphql.OperationContext, gqlerror.List) {
	if refused := h.Executor.Admit(ctx, op.OperationDefinition, req.Variables, false); refused != nil {
		return nil, gqlerror.List{gqlerror.Wrap(refused)}
	}
	if len(op.wrong) > 0 {
		return nil, op.wrong
	}

	for _, name := range op.notNull {
		if value, given := req.Variables[name]; given && value == nil {
			path := ast.Path{ast.PathName("variable"), ast.PathName(name)}
			return nil, gqlerror.List{gqlerror.ErrorPathf(path, "cannot be null")}
		}
	}
	return h.Executor.CreateOperationContext(ctx, &req.RawParams)
}

// fail responds with errors that prevented an operation from running.
func (h *Handler) fail(x exchange, errs gqlerror.List) {
	ctx := graphql.WithOperationContext(x.r.Context(), &graphql.OperationContext{})
	x.refused(h.Executor.DispatchError(graphql.StartOperationTrace(ctx), shorten(errs)).Errors)
}
