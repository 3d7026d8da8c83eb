package cms

import (
	"context"
	"time"
)

// Watcher is a driver that notices changes of the content by itself. Every driver implements
// it.
type Watcher interface {
	// Watch calls changed after each change of published documents of some types, and once
	// when it begins, until ctx ends. It may call it more often. A change that it misses while
	// the CMS is away is reported later.
	Watch(ctx context.Context, types []string, changed func())

	// WatchDrafts is Watch for documents that are published or not.
	WatchDrafts(ctx context.Context, types []string, changed func())

	// Watching returns how Watch notices changes at the moment.
	Watching() Watching
}

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
	Reason string    `json:"reason,omitempty"` // why there is no stream
}
