package graphqlhttp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"siteapi/integrations/edge"
	"siteapi/schema/request"
)

// responseCache stores finished responses of public queries by the exact bytes of their
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
type responseCache struct {
	Options

	cache *otter.Cache[responseKey, *cachedResponse]

	running singleflight.Group // requests that are being executed
}

// responseKey identifies a request and the media type of its response.
type responseKey struct {
	media   mediaType
	get     bool
	request string
}

type cachedResponse struct {
	response

	operation request.Operation // recorded in the access log
	revisions revisions
}

// revisions are the revisions of content by locale at one time.
type revisions map[string]string

const (
	responseCacheBytes = 16 << 20 // memory for all cached responses
	responseOverhead   = 1 << 10  // bytes of each response in addition to its request and its body
)

func newResponseCache(o Options) *responseCache {
	c := &responseCache{Options: o}
	c.cache = otter.Must(&otter.Options[responseKey, *cachedResponse]{
		MaximumWeight: responseCacheBytes,
		Weigher: func(k responseKey, r *cachedResponse) uint32 {
			return uint32(responseOverhead + len(k.request) + len(r.body) + len(r.body)/2) // gzip adds at most half
		},
	})
	return c
}

// get returns the response to a request if it is still current.
func (c *responseCache) get(key responseKey) *cachedResponse {
	if found, ok := c.cache.GetIfPresent(key); ok && c.current(found.revisions) {
		return found
	}
	return nil
}

// current reports whether a response built from these revisions is still current. Without
// revisions it is not.
func (c *responseCache) current(built revisions) bool {
	for locale, name := range built {
		if now, ok := c.Revision(locale); !ok || now != name {
			return false
		}
	}
	return len(built) > 0
}

// store caches a response that is built from current content. For shared caches it adds
// the keys of that content and the maximum age.
func (c *responseCache) store(key responseKey, res *cachedResponse) {
	if !c.current(res.revisions) {
		return
	}

	if key.get && c.ContentKey != nil { // shared caches do not store responses to POST
		var keys []string
		for _, locale := range slices.Sorted(maps.Keys(res.revisions)) {
			keys = append(keys, c.ContentKey(locale))
		}
		edge.SetHeaders(res.header, keys, c.CDNMaxAge)
	}
	c.cache.Set(key, res)
}

// run executes an operation and stores its response. If the same request is already being
// executed with the same content, it waits for that response instead and returns no
// result. If that response cannot be shared, because of an error, each waiting request
// executes the operation itself. The cached response is nil if the result has errors or
// must not be cached.
func (c *responseCache) run(
	ctx context.Context, key responseKey, op *operation, opCtx *graphql.OperationContext,
) (*graphql.Response, *cachedResponse) {
	execute := func(ctx context.Context) *graphql.Response {
		next, ctx := c.Executor.DispatchOperation(ctx, opCtx)
		return next(ctx)
	}

	// The revisions are read before the operation runs, so that a response that is built
	// while the content changes is stored under the old revision.
	current := c.revisions(ctx, op, opCtx.Variables)
	if current == nil {
		return execute(ctx), nil
	}

	var result *graphql.Response
	executed := false
	shared, _, _ := c.running.Do(fmt.Sprint(key, current), func() (any, error) {
		if stored := c.get(key); stored != nil { // stored in the meantime
			return stored, nil
		}

		// A disconnect of this client does not end the execution for the others.
		deadline, _ := ctx.Deadline()
		ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()

		result, executed = execute(ctx), true
		if result == nil || len(result.Errors) > 0 {
			return (*cachedResponse)(nil), nil
		}
		response := newCachedResponse(key.media, op, result)
		response.revisions = current
		c.store(key, response)
		return response, nil
	})

	if response := shared.(*cachedResponse); response != nil || executed {
		return result, response
	}
	return execute(ctx), nil
}

// newCachedResponse returns a response, with what the access log records of the requests
// that get it later.
func newCachedResponse(m mediaType, op *operation, result *graphql.Response) *cachedResponse {
	missing := anyNull(result.Data, op.settings)
	asked := op.summary()
	asked.Public, asked.Cached = !missing, true
	return &cachedResponse{response: newResponse(m, encode(m, result, missing)), operation: asked}
}

// revisions returns the current revisions of the content that an operation reads, or nil
// if its response cannot be cached. Content that is not loaded is read first.
func (c *responseCache) revisions(ctx context.Context, op *operation, variables map[string]any) revisions {
	if !op.cacheable || request.CallerFrom(ctx).Preview != "" {
		return nil
	}

	list := revisions{}
	for _, source := range op.locales {
		locale := source.in(variables)
		name, ok := c.Revision(locale)
		if !ok {
			c.Load(ctx, locale)
			if name, ok = c.Revision(locale); !ok {
				return nil
			}
		}
		list[strings.Clone(locale)] = name
	}
	return list
}
