package graphqlhttp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/maypok86/otter/v2"

	"siteapi/schema"
)

// responseCache stores finished responses of public queries by the exact bytes of their
// requests. A response is used only while the content it was made from is current: the
// revisions of the content are read before the operation runs and compared before each
// use. An invalidated locale has no revision, so its responses are not used.
//
// The schema decides which responses are stored (@cacheControl with a locale), so a
// response never depends on the caller. The cache admits by frequency: rare requests do
// not evict frequent ones.
//
// Of the same requests at the same time only the first is executed, so that many readers
// who wait for new content cost as much as one.
type responseCache struct {
	Options

	cache *otter.Cache[responseKey, *cachedResponse]

	mu      sync.Mutex
	running map[runKey]*run
}

// runKey identifies a request and the content that is current when it is executed.
type runKey struct {
	responseKey
	revisions string
}

// run is a request that is being executed.
type run struct {
	done     chan struct{}
	response *cachedResponse // set before done is closed; nil: it cannot be shared
}

// responseKey identifies a request and the media type of its response.
type responseKey struct {
	media   mediaType
	get     bool
	request string
}

// revision identifies the content of a locale at one time.
type revision struct{ locale, name string }

type cachedResponse struct {
	response

	operation schema.Operation // recorded in the access log
	revisions []revision
}

const (
	responseCacheBytes = 16 << 20 // memory for all cached responses
	responseOverhead   = 1 << 10  // bytes of each response beside its request and its body
)

func newResponseCache(o Options) *responseCache {
	c := &responseCache{Options: o, running: map[runKey]*run{}}
	c.cache = otter.Must(&otter.Options[responseKey, *cachedResponse]{
		MaximumWeight: responseCacheBytes,
		Weigher: func(k responseKey, r *cachedResponse) uint32 {
			return uint32(responseOverhead + len(k.request) + len(r.body) + len(r.body)/2) // half more in gzip
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

// current reports whether a response made from these revisions may be sent again. One that
// is made from unknown revisions may not.
func (c *responseCache) current(revisions []revision) bool {
	for _, r := range revisions {
		if name, ok := c.Revision(r.locale); !ok || name != r.name {
			return false
		}
	}
	return len(revisions) > 0
}

// store keeps a response that is made from current content, and tells shared caches what
// content that is and how long they may keep it.
func (c *responseCache) store(key responseKey, res *cachedResponse) {
	if !c.current(res.revisions) {
		return
	}

	if key.get && c.ContentKey != nil { // shared caches do not store answers to POST
		keys := make([]string, len(res.revisions))
		for i, r := range res.revisions {
			keys[i] = c.ContentKey(r.locale)
		}
		res.header["Cache-Tag"] = []string{strings.Join(keys, ",")}
		res.header["Surrogate-Key"] = []string{strings.Join(keys, " ")}
		if c.CDNMaxAge > 0 {
			res.header.Set("CDN-Cache-Control", fmt.Sprintf("public, max-age=%.0f", c.CDNMaxAge.Seconds()))
		}
	}
	c.cache.Set(key, res)
}

// once executes an operation and stores its response, unless the same request is being
// executed over the same content: then it waits for that response, without a result of its
// own. A request whose response cannot be shared, because of an error, leaves the others to
// execute by themselves.
//
// This is not singleflight, which would not let a request stop waiting when its own time
// is over without a goroutine for each execution, where a panic ends the process.
func (c *responseCache) once(
	ctx context.Context, key responseKey, op *operation, variables map[string]any,
	execute func(context.Context) (*graphql.Response, *cachedResponse),
) (*graphql.Response, *cachedResponse) {
	// The revisions are read before anything runs, so that a response made while the
	// content changes is stored under the old revision.
	revisions := c.revisions(ctx, op, variables)
	if len(revisions) == 0 {
		return execute(ctx)
	}

	at := runKey{key, fmt.Sprint(revisions)}
	c.mu.Lock()
	other := c.running[at]
	own := &run{done: make(chan struct{})}
	if other == nil {
		c.running[at] = own
	}
	c.mu.Unlock()

	if other != nil {
		select {
		case <-ctx.Done():
			return nil, nil
		case <-other.done:
		}
		if other.response != nil {
			return nil, other.response
		}
		return execute(ctx)
	}

	defer c.finish(at, own)
	if own.response = c.get(key); own.response != nil { // stored a moment ago
		return nil, own.response
	}

	// A client that leaves does not end what others wait for.
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()

	result, response := execute(ctx)
	if response != nil {
		response.revisions = revisions
		c.store(key, response)
		own.response = response
	}
	return result, response
}

// finish lets the others continue, also after a panic.
func (c *responseCache) finish(at runKey, own *run) {
	c.mu.Lock()
	delete(c.running, at)
	c.mu.Unlock()
	close(own.done)
}

// revisions returns the current revisions of the content that an operation is made from,
// or nil if its response cannot be cached. Content that is not loaded is read first.
func (c *responseCache) revisions(ctx context.Context, op *operation, variables map[string]any) []revision {
	if !op.cache.cacheable || op.cache.private || schema.CallerFrom(ctx).Preview != "" {
		return nil
	}

	var locales []string
	for _, source := range op.locales {
		value, _ := source.Value(variables) // cannot fail: an enum, or a variable that has been checked
		locale, _ := value.(string)
		if !slices.Contains(locales, locale) {
			locales = append(locales, locale)
		}
	}

	// All at once, as the fields would be: each may take most of the operation's time.
	var loading sync.WaitGroup
	for _, locale := range locales {
		if _, ok := c.Revision(locale); !ok {
			loading.Go(func() { c.Load(ctx, locale) })
		}
	}
	loading.Wait()

	var list []revision
	for _, locale := range locales {
		name, ok := c.Revision(locale)
		if !ok {
			return nil
		}
		list = append(list, revision{strings.Clone(locale), name})
	}
	return list
}
