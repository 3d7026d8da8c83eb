package graphqlhttp

import (
	"slices"
	"strings"

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
type responseCache struct {
	revision func(locale string) (string, bool)
	cache    *otter.Cache[responseKey, *cachedResponse]
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

func newResponseCache(revision func(string) (string, bool)) *responseCache {
	return &responseCache{revision, otter.Must(&otter.Options[responseKey, *cachedResponse]{
		MaximumWeight: responseCacheBytes,
		Weigher: func(k responseKey, r *cachedResponse) uint32 {
			return uint32(responseOverhead + len(k.request) + r.size + r.size/2) // half more for its codings
		},
	})}
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
		if name, ok := c.revision(r.locale); !ok || name != r.name {
			return false
		}
	}
	return len(revisions) > 0
}

// revisions returns the current revisions of the content that an operation is made from,
// or nil if its response cannot be cached.
func (c *responseCache) revisions(op *operation, variables map[string]any) []revision {
	if !op.cache.cacheable || op.cache.private {
		return nil
	}

	var list []revision
	for _, source := range op.locales {
		value, _ := source.Value(variables) // cannot fail: an enum, or a variable that has been checked
		locale, _ := value.(string)
		if slices.ContainsFunc(list, func(r revision) bool { return r.locale == locale }) {
			continue
		}

		name, ok := c.revision(locale)
		if !ok {
			return nil
		}
		list = append(list, revision{strings.Clone(locale), name})
	}

	return list
}
