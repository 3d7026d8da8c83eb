package cms

import (
	"context"
	"time"
)

// Watcher detects content changes without a webhook. Every driver implements it.
type Watcher interface {
	// Watch calls changed once at the start and after each change of published documents
	// of the given types, until ctx is done. Extra calls are possible. A change that
	// happens while the CMS is unavailable is reported later.
	Watch(ctx context.Context, types []string, changed func())

	// WatchDrafts is like Watch but includes unpublished documents. It passes the revision
	// of all documents, as DraftsRevision returns it.
	WatchDrafts(ctx context.Context, types []string, changed func(revision string))

	// DraftsRevision returns an identifier of the state of all documents of the given types,
	// published or not. It is the same for every process.
	DraftsRevision(ctx context.Context, types []string) (string, error)

	// Watching returns the current mode of Watch.
	Watching() Watching
}

// These modes describe how changes are detected.
const (
	WatchStream = "stream" // the CMS reports each change at once
	WatchAsking = "asking" // the service polls at intervals
	WatchFile   = "file"   // a file is polled several times a second
)

// Watching describes how changes are detected. The zero value means that no watch is
// running.
type Watching struct {
	Mode   string    `json:"mode"`             // WatchStream, WatchAsking or WatchFile
	Since  time.Time `json:"since"`            // when this mode began
	Reason string    `json:"reason,omitempty"` // why no stream is used
}
