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
	"errors"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/maypok86/otter/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"golang.org/x/sync/singleflight"

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

	// Load reads the content of a locale for which Revision returned false. Afterward
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

// Handler is the GraphQL endpoint, at any path. It gets the caller and the record from
// the context of a request.
type Handler struct {
	Options
	responses *otter.Cache[responseKey, *response] // see responsecache.go
	running   singleflight.Group                   // requests that are being executed
}

// New returns a handler.
func New(o Options) *Handler {
	return &Handler{Options: o, responses: otter.Must(&otter.Options[responseKey, *response]{
		MaximumWeight: responseCacheBytes,
		Weigher: func(k responseKey, r *response) uint32 {
			// The gzipped form adds at most half.
			return uint32(responseOverhead + len(k.request) + len(r.body) + len(r.body)/2)
		},
	})}
}

// ServeHTTP handles one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchange{w, r, negotiate(r.Header["Accept"])}
	if err := h.serve(x); err != nil {
		h.fail(x, err)
	}
}

// serve sends the cached response to a request, or runs its operation. It returns the
// error of an operation that did not run.
func (h *Handler) serve(x exchange) error {
	raw, err := x.read()
	if err != nil || x.r.Method == http.MethodOptions {
		return err
	}

	record := request.RecordFrom(x.r.Context())
	key := responseKey{x.media, x.r.Method != http.MethodPost, string(raw)}
	preview := request.CallerFrom(x.r.Context()).Preview != ""
	if cached := h.cached(key); cached != nil && x.json && !preview {
		record.Operation = cached.operation
		cached.write(x.w, x.r)
		return nil
	}

	req, err := parse(raw, key.get)
	if err != nil {
		return err
	}
	op, err := h.Documents.find(req)
	if err != nil {
		return err
	}
	record.Operation = op.summary()

	switch {
	case key.get && op.Operation != ast.Query:
		return x.methodNotAllowed("POST", "A GET can only run queries.")
	case op.Operation == ast.Subscription:
		return h.stream(x, req, op)
	case !x.json:
		return notAcceptable("The response to a query or a mutation is JSON.")
	}

	ctx, cancel := context.WithTimeout(request.WithBody(x.r.Context(), raw), maxTime)
	defer cancel()
	opCtx, ctx, err := h.admit(ctx, req, op)
	if err != nil {
		return err
	}
	result, res := h.run(ctx, key, op, opCtx)
	if res == nil {
		return x.result(op, result)
	}

	asked := res.operation
	asked.Cached = result == nil // It is the response of another request.
	record.Operation = asked
	res.write(x.w, x.r)
	return nil
}

// admit checks an operation before it runs.
func (h *Handler) admit(
	ctx context.Context, req *params, op *operation,
) (*graphql.OperationContext, context.Context, error) {
	if refused := h.Executor.Admit(ctx, op.OperationDefinition, req.Variables, false); refused != nil {
		return nil, nil, refused
	}
	if len(op.wrong) > 0 {
		return nil, nil, op.wrong
	}
	for _, name := range op.notNull {
		if value, given := req.Variables[name]; given && value == nil {
			path := ast.Path{ast.PathName("variable"), ast.PathName(name)}
			return nil, nil, gqlerror.ErrorPathf(path, "cannot be null")
		}
	}

	ctx = graphql.StartOperationTrace(ctx)
	opCtx, errs := h.Executor.CreateOperationContext(ctx, &req.RawParams)
	if len(errs) > 0 {
		return nil, nil, errs
	}
	return opCtx, ctx, nil
}

// fail responds with the error of an operation that did not run.
func (h *Handler) fail(x exchange, err error) {
	if e, ok := errors.AsType[httpError](err); ok {
		x.error(e.status, e.problem)
		return
	}

	errs, ok := errors.AsType[gqlerror.List](err)
	if !ok {
		errs = gqlerror.List{gqlerror.WrapIfUnwrapped(err)}
	}
	ctx := graphql.WithOperationContext(x.r.Context(), &graphql.OperationContext{})
	x.refused(h.Executor.DispatchError(graphql.StartOperationTrace(ctx), shorten(errs)).Errors)
}
