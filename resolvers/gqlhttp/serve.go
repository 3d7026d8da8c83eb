package gqlhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
)

// servePost answers a request in a JSON body.
func (h *Handler) servePost(w http.ResponseWriter, r *http.Request) {
	m, ok := h.accepts(w, r)
	if !ok {
		return
	}
	if !isJSON(r.Header) {
		h.refuse(w, r, m, &refusal{
			status: http.StatusUnsupportedMediaType, code: schema.CodeUnsupportedMediaType,
			message: "The body of a POST has to be application/json in UTF-8, without a content encoding.",
		})
		return
	}
	b := h.buffer()
	defer h.release(b)
	if refused := h.readBody(r, b); refused != nil {
		if refused.status == http.StatusRequestEntityTooLarge {
			w.Header().Set("Connection", "close") // the rest is not read
		}
		h.refuse(w, r, m, refused)
		return
	}
	h.serve(w, r, m, b.data, false)
}

// serveGet answers a query in the query string.
func (h *Handler) serveGet(w http.ResponseWriter, r *http.Request) {
	m, ok := h.accepts(w, r)
	if !ok {
		return
	}
	if h.requireHeader && !preflighted(r.Header) {
		h.refuse(w, r, m, badRequest("A GET needs one of the headers that a page of another site can't send unasked, such as GraphQL-Require-Preflight."))
		return
	}
	if len(r.URL.RawQuery) > h.limits.Body {
		h.refuse(w, r, m, h.tooLarge())
		return
	}
	h.serve(w, r, m, []byte(r.URL.RawQuery), true)
}

// accepts negotiates the media type, or answers 406.
func (h *Handler) accepts(w http.ResponseWriter, r *http.Request) (media, bool) {
	m, ok := negotiate(r.Header["Accept"])
	if !ok {
		h.refuse(w, r, m, &refusal{
			status: http.StatusNotAcceptable, code: schema.CodeUnsupportedMediaType,
			message: "Answers are " + typeGraphQL + " or " + typeJSON + ".",
		})
	}
	return m, ok
}

// PreflightHeaders returns the headers of which one is needed where
// [Options.RequireHeader] is set. A browser asks before it sends one across origins.
func PreflightHeaders() []string {
	return []string{
		"Apollo-Require-Preflight", "Graphql-Require-Preflight", "X-Apollo-Operation-Name", "X-Requested-With",
	}
}

func preflighted(header http.Header) bool {
	return slices.ContainsFunc(PreflightHeaders(), func(name string) bool { return len(header[name]) > 0 })
}

func (h *Handler) tooLarge() *refusal {
	return &refusal{
		status: http.StatusRequestEntityTooLarge, code: schema.CodePayloadTooLarge,
		message: fmt.Sprintf("The request is larger than %d bytes.", h.limits.Body),
	}
}

// readBody reads the whole body, but never much more than the limit.
func (h *Handler) readBody(r *http.Request, b *buffer) *refusal {
	if r.ContentLength > int64(h.limits.Body) {
		return h.tooLarge()
	}
	if need := int(r.ContentLength) + 1; need > cap(b.data) {
		b.data = make([]byte, 0, need)
	}
	for {
		if len(b.data) == cap(b.data) {
			b.data = slices.Grow(b.data, cap(b.data))
		}
		n, err := r.Body.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		if len(b.data) > h.limits.Body {
			return h.tooLarge()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if refused, ok := errors.AsType[*schema.Error](err); ok { // by the server's limits
			return &refusal{status: refused.Code.Status(), code: refused.Code, message: refused.Message, retryAfter: refused.RetryAfter}
		}
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return h.tooLarge()
		}
		if err != nil {
			return badRequest("The request body could not be read.")
		}
	}
}

// serve answers a request that was read, a body or a query string: with a kept answer,
// else by running it.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, m media, raw []byte, get bool) {
	kept, hash := h.answers.find(kindOf(get, m), raw)
	if kept != nil && h.answers.current(kept.revisions) {
		status := kept.page.write(w, r)
		h.tell(w, r, Event{Outcome: Kept, Operation: kept.label, Status: status})
		return
	}
	defer h.recover(w, r, m)
	if c := h.prepare(w, r, m, &request{raw: raw, get: get}); c != nil {
		c.hash = hash
		h.run(w, r, m, c)
	}
}

// prepare reads and checks a request. Where it refuses, it has answered and returns nil.
func (h *Handler) prepare(w http.ResponseWriter, r *http.Request, m media, req *request) *call {
	refused := h.decode(req)
	var register string
	if refused == nil {
		register, refused = h.persisted.resolve(req)
	}
	if refused != nil {
		h.refuse(w, r, m, refused)
		return nil
	}
	doc, errs := req.doc, gqlerror.List(nil)
	if doc == nil {
		doc, errs = h.docs.load(req.query)
	}
	if doc == nil {
		h.fail(w, r, m, h.withRequestID(w, r, errs))
		return nil
	}
	op, p, refused := doc.operation(req.operation)
	if refused == nil && req.get && op.Operation != ast.Query {
		refused = &refusal{
			status: http.StatusMethodNotAllowed, code: schema.CodeMethodNotAllowed, allow: allowPost,
			message: "A GET can only run queries.",
		}
	}
	if refused != nil {
		h.refuse(w, r, m, refused)
		return nil
	}
	if register != "" && len(errs) == 0 {
		h.persisted.register(register, doc.text)
	}
	return &call{request: req, doc: doc, op: op, plan: p, invalid: len(errs) > 0}
}

// run executes an operation and sends what comes out.
func (h *Handler) run(w http.ResponseWriter, r *http.Request, m media, c *call) {
	summary := &schema.CallerFrom(r.Context()).Summary
	summary.Operation = string(c.op.Operation)
	for _, selection := range c.op.SelectionSet {
		if field, ok := selection.(*ast.Field); ok && !slices.Contains(summary.RootFields, field.Name) {
			summary.RootFields = append(summary.RootFields, field.Name)
		}
	}
	ctx := h.context(w, r, c)
	if h.limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.limits.Time)
		defer cancel()
	}
	opCtx, errs := h.exec.CreateOperationContext(ctx, &graphql.RawParams{
		Query: c.query, OperationName: c.operation, Variables: c.variables, Extensions: c.extensions, Headers: r.Header,
	})
	if len(errs) > 0 {
		h.fail(w, r, m, h.exec.DispatchError(graphql.WithOperationContext(ctx, opCtx), errs).Errors)
		return
	}
	// Read before anything runs: an answer made while the content changes is then
	// filed under the old revision, where nobody looks any more.
	revisions := h.answers.read(c.plan, opCtx.Variables)
	next, ctx := h.exec.DispatchOperation(ctx, opCtx)
	result := next(ctx)
	if result == nil {
		h.refuse(w, r, m, &refusal{
			status: http.StatusServiceUnavailable, wellFormed: true, code: schema.CodeUpstreamUnavailable,
			message: "The operation took too long.", retryAfter: time.Second,
		})
		return
	}
	h.send(w, r, m, c, result, revisions)
}

// context returns the context an operation runs in.
func (h *Handler) context(w http.ResponseWriter, r *http.Request, c *call) context.Context {
	ctx := graphql.StartOperationTrace(r.Context())
	if !c.invalid {
		ctx = withDocument(ctx, c.doc)
	}
	caller := h.callerOf(w, r)
	if c.op.Operation == ast.Mutation {
		// Signatures are over the body. It is copied, since a mutation may go on with it
		// after the answer.
		own := *caller
		own.Body = slices.Clone(c.raw)
		caller = &own
	}
	return schema.WithCaller(ctx, caller)
}

// callerOf returns who sent a request.
func (h *Handler) callerOf(w http.ResponseWriter, r *http.Request) *schema.Caller {
	if h.caller != nil {
		return h.caller(w, r)
	}
	return schema.CallerFrom(r.Context())
}

// decode reads a request's parameters.
func (h *Handler) decode(req *request) *refusal {
	d := h.decoders.Get().(*decoder)
	defer h.decoders.Put(d)
	if req.get {
		return d.queryString(string(req.raw), req)
	}
	return d.body(req.raw, req)
}
