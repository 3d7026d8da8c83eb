package graphqlhttp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"siteapi/integrations/edge"
	"siteapi/schema/request"
)

// A handler caches finished responses of public queries by the exact bytes of their
// requests. A response is used only while the content it was built from is current: the
// revisions of the content are read before the operation runs and compared before each
// use. An invalidated locale has no revision, so its responses are not used.
//
// The schema decides which responses are stored (@cacheControl with a locale), so a
// response never depends on the caller. The cache admits by frequency: rare requests do
// not evict frequent ones.
//
// Of identical concurrent requests only the first is executed, so that new content costs
// one execution, however many clients read it.

// responseKey identifies a request and the media type of its response.
type responseKey struct {
	media   mediaType
	get     bool
	request string
}

// revisions are the revisions of content by locale at one time.
type revisions map[string]string

const (
	responseCacheBytes = 16 << 20 // memory for all cached responses
	responseOverhead   = 1 << 10  // bytes of each response in addition to its request and its body
)

// cached returns the response to a request if it is still current.
func (h *Handler) cached(key responseKey) *response {
	if found, ok := h.responses.GetIfPresent(key); ok && h.current(found.revisions) {
		return found
	}
	return nil
}

// current reports whether a response built from these revisions is still current. Without
// revisions it is not.
func (h *Handler) current(built revisions) bool {
	for locale, name := range built {
		if now, ok := h.Revision(locale); !ok || now != name {
			return false
		}
	}
	return len(built) > 0
}

// store caches a response that is built from current content. For shared caches it adds
// the keys of that content and the maximum age.
func (h *Handler) store(key responseKey, res *response) {
	if !h.current(res.revisions) {
		return
	}

	if key.get && h.ContentKey != nil { // shared caches do not store responses to POST
		var keys []string
		for _, locale := range slices.Sorted(maps.Keys(res.revisions)) {
			keys = append(keys, h.ContentKey(locale))
		}
		edge.SetHeaders(res.header, keys, h.CDNMaxAge)
	}
	h.responses.Set(key, res)
}

// run executes an operation and stores its response. If the same request is already being
// executed with the same content, it waits for that response instead and returns no
// result. If that response cannot be shared, because of an error, each waiting request
// executes the operation itself. The cached response is nil if the result has errors or
// must not be cached.
func (h *Handler) run(
	ctx context.Context, key responseKey, op *operation, opCtx *graphql.OperationContext,
) (*graphql.Response, *response) {
	execute := func(ctx context.Context) *graphql.Response {
		next, ctx := h.Executor.DispatchOperation(ctx, opCtx)
		return next(ctx)
	}

	// The revisions are read before the operation runs, so that a response that is built
	// while the content changes is stored under the old revision.
	current := h.revisions(ctx, op, opCtx.Variables)
	if current == nil {
		return execute(ctx), nil
	}

	var result *graphql.Response
	executed := false
	shared, _, _ := h.running.Do(fmt.Sprint(key, current), func() (any, error) {
		if stored := h.cached(key); stored != nil { // stored in the meantime
			return stored, nil
		}

		// A disconnect of this client does not end the execution for the others.
		deadline, _ := ctx.Deadline()
		ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()

		result, executed = execute(ctx), true
		if result == nil || len(result.Errors) > 0 {
			return (*response)(nil), nil
		}
		res := newResponse(key.media, op, result)
		res.revisions = current
		h.store(key, res)
		return res, nil
	})

	if res := shared.(*response); res != nil || executed {
		return result, res
	}
	return execute(ctx), nil
}

// revisions returns the current revisions of the content that an operation reads, or nil
// if its response cannot be cached. Content that is not loaded is read first.
func (h *Handler) revisions(ctx context.Context, op *operation, variables map[string]any) revisions {
	if !op.cacheable || request.CallerFrom(ctx).Preview != "" {
		return nil
	}

	list := revisions{}
	for _, source := range op.locales {
		locale := source.in(variables)
		name, ok := h.Revision(locale)
		if !ok {
			h.Load(ctx, locale)
			if name, ok = h.Revision(locale); !ok {
				return nil
			}
		}
		list[strings.Clone(locale)] = name
	}
	return list
}
