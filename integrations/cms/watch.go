package cms

import (
	"context"
	"time"
)

// Watcher is a driver that notices changes of the content by itself.
type Watcher interface {
	// Watch calls changed with the locales whose content may have changed until ctx ends.
	// It may name more locales than have changed, and calls changed from several
	// goroutines. A change from before it began, or that it misses while the CMS is away, is
	// reported later.
	Watch(ctx context.Context, scope Scope, changed func(locales []string)) error
	// Watching returns how the driver notices changes at the moment.
	Watching() Watching
}

// DraftWatcher is a driver that notices changes of drafts and releases, too. Every driver
// implements it.
type DraftWatcher interface {
	// WatchDrafts calls changed after each change of documents of these types, published or
	// not, until ctx ends. It may call it more often, from several goroutines.
	WatchDrafts(ctx context.Context, types []string, changed func()) error
}

// Scope is the content that is watched.
type Scope struct {
	Types   []string // document types
	Locales []string
}

// Query returns the query for the content of one locale.
func (s Scope) Query(locale string) Query { return Query{Types: s.Types, Locale: locale} }

// The ways in which changes are noticed.
const (
	WatchStream = "stream" // the CMS reports each change at once
	WatchAsking = "asking" // the service asks at intervals
	WatchFile   = "file"   // a file is looked at several times a second
)

// Watching is how changes are noticed. The zero value means that they are not.
type Watching struct {
	Mode   string    `json:"mode"`             // one of the constants
	Since  time.Time `json:"since"`            // when this mode began
	Heard  time.Time `json:"heard"`            // last sign of life of the CMS
	Reason string    `json:"reason,omitempty"` // why there is no stream
}
