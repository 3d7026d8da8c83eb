// Package content serves the content of every locale: from the cache, else from the CMS,
// else from a fallback copy on disk of any age. It also keeps the cache fresh.
package content

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// ErrUnavailable means that the content cannot be read and has no fallback copy.
var ErrUnavailable = errors.New("the content is unavailable and has no fallback copy")

// Options configures a [Service]. A field is required unless its comment states
// otherwise.
type Options struct {
	CMS     cms.Content
	Watcher cms.Watcher // used by Watch and for previews only
	Cache   cache.Cache

	Log   zerolog.Logger
	Count func(event, detail string) // optional: counts events

	Source string         // identifies the origin of content: its driver and dataset
	Types  []string       // document types of the site; leads and translations are never served
	Life   cache.Lifetime // how long a locale's content is cached

	// FallbackDir holds fallback copies of the content for later processes.
	FallbackDir string

	// Notify stores that edge caches and renderers must be notified of changed content,
	// so that they are even if this process dies. Optional: nil without edge caches and
	// renderers.
	Notify func(ctx context.Context) error

	// Revisions stores price rules and the firm's texts, so that they can be read after
	// they are replaced. Optional: a command that only composes mails does not store them.
	Revisions RevisionStore
}

// RevisionStore is the part of the store that keeps revisions of documents.
type RevisionStore interface {
	UseRevision(ctx context.Context, r store.Revision, now time.Time) error
	CurrentRevision(ctx context.Context, kind, locale string) (store.Revision, error)
}

// Service serves the content of each locale.
type Service struct {
	Options

	types   []string // document types to fetch
	origin  string   // identifies the source, the types and the encoding of content
	locales map[schema.Locale]*localeContent

	problems sync.Map // logged problems of the content
	stored   sync.Map // the revision that this process last stored, by kind and locale

	mu sync.Mutex // guards the state of each locale

	previews previews

	background sync.WaitGroup
	closing    context.Context // ends when the service closes
	close      context.CancelFunc
}

// localeContent is the content of one locale in this process.
type localeContent struct {
	locale schema.Locale
	key    string
	due    chan struct{} // signals that the content must be fetched

	mu     sync.Mutex // guards latest; locked while an entry is decoded
	latest *Snapshot  // also served while the CMS fails

	state localeState
}

// current returns the latest content, or nil if there is none yet.
func (l *localeContent) current() *Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest
}

// localeState is the state of a locale's fetches and notifications. The service's mutex
// guards it.
type localeState struct {
	fetchedAt *time.Time // when this process last fetched; nil: never
	paused    time.Time  // earliest time of the next fetch

	// notified is the last revision that the edge was notified of, or one of the
	// constants below.
	notified string
}

// What the edge was notified of, if not of a revision.
const (
	unknownRevision = "unknown" // an earlier process may have notified it
	anyRevision     = "any"     // it knows that the content has changed, whatever is fetched
	noRevision      = "none"    // it must be notified of the next one
)

// New returns a service that has not fetched any content yet.
func New(o Options) *Service {
	if o.Count == nil {
		o.Count = func(string, string) {}
	}
	if o.Notify == nil {
		o.Notify = func(context.Context) error { return nil }
	}

	c := &Service{
		Options: o,
		types:   append(cms.Singletons(), cms.OptionType, cms.ConsentType, cms.TranslationsType),
		locales: map[schema.Locale]*localeContent{},
		previews: previews{
			followers: map[chan *schema.ContentChange]bool{},
		},
	}

	c.Types = slices.DeleteFunc(slices.Clone(o.Types), func(name string) bool {
		return name == cms.LeadType || name == cms.TranslationsType
	})
	for _, name := range c.Types {
		if !slices.Contains(c.types, name) {
			c.types = append(c.types, name)
		}
	}
	c.origin = originOf(o.Source, c.types)

	c.closing, c.close = context.WithCancel(context.Background())
	for _, locale := range schema.Locales() {
		l := &localeContent{
			locale: locale,
			key:    Key(string(locale)),
			due:    make(chan struct{}, 1),
			state:  localeState{notified: unknownRevision},
		}
		c.locales[locale] = l
		c.start(func(ctx context.Context) { c.keepFresh(ctx, l) })
	}
	return c
}

// state applies an optional update to the state of a locale's content and returns the
// result.
func (c *Service) state(l *localeContent, update func(s *localeState)) localeState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if update != nil {
		update(&l.state)
	}
	return l.state
}

// Key is the key of a locale's content, in the cache and at the edge.
func Key(locale string) string { return "content:locale:" + locale }

// Keys returns the keys of the locales' content.
func Keys(locales []schema.Locale) []string {
	keys := make([]string, len(locales))
	for i, locale := range locales {
		keys[i] = Key(string(locale))
	}
	return keys
}

// Close ends background work and waits for it until ctx ends. No other method may run
// concurrently.
func (c *Service) Close(ctx context.Context) error {
	c.close()

	done := make(chan struct{})
	go func() { c.background.Wait(); close(done) }()

	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start runs f in the background, independent of the request that caused it, unless the
// service is closing.
func (c *Service) start(f func(ctx context.Context)) {
	if c.closing.Err() == nil {
		c.background.Go(func() { f(c.closing) })
	}
}

// Size returns the encoded size, in bytes, of all content in memory.
func (c *Service) Size() int {
	size := 0
	for _, l := range c.locales {
		if latest := l.current(); latest != nil {
			size += latest.size
		}
	}
	return size
}

// Has reports whether the latest content of a locale in this process includes a document.
func (c *Service) Has(locale schema.Locale, id string) bool {
	latest := c.locales[locale].current()
	return latest != nil && latest.byID[id] != nil
}

// Health reports for each locale when its content was fetched and how many documents it
// has.
func (c *Service) Health() (all []*schema.ContentHealth) {
	for _, locale := range schema.Locales() {
		l := c.locales[locale]
		h := &schema.ContentHealth{
			Locale:    locale,
			FetchedAt: c.state(l, nil).fetchedAt,
			Types:     []*schema.ContentTypeHealth{},
		}

		if latest := l.current(); latest != nil {
			for _, name := range slices.Sorted(maps.Keys(latest.documents)) {
				of := &schema.ContentTypeHealth{Type: name, Documents: len(latest.documents[name])}
				for _, doc := range latest.documents[name] {
					if doc.UpdatedAt != nil && (of.UpdatedAt == nil || doc.UpdatedAt.After(*of.UpdatedAt)) {
						of.UpdatedAt = doc.UpdatedAt
					}
				}
				h.Documents += of.Documents
				h.Types = append(h.Types, of)
			}
		}
		all = append(all, h)
	}
	return all
}
