package store

import (
	"context"
	"time"
)

// LeadChange says that something changed of a lead: the lead itself, or one of its deliveries.
type LeadChange struct {
	Seq  int64
	At   time.Time
	Lead string // id of the lead
	Kind ChangeKind
}

// ChangeKind is what became of a lead.
type ChangeKind int

// The kinds of changes. The store keeps their numbers.
const (
	LeadCreated ChangeKind = 1
	LeadChanged ChangeKind = 2
	LeadErased  ChangeKind = 3
)

// UnseenFor is how long a number of a change may be missing before its transaction has
// certainly failed.
const UnseenFor = 15 * time.Second

// Changes tells what changed of leads, in the order of growing numbers. Each change is
// recorded in its own transaction. A transaction gets numbers before it is committed, so a
// number that is missing may appear later, for up to [UnseenFor], or never.
type Changes interface {
	// LastChanges returns the newest changes, up to n, in the order of their numbers.
	LastChanges(ctx context.Context, n int) ([]LeadChange, error)

	// ChangesAfter returns changes with a number greater than seq, or with one of the
	// missing numbers, up to n in the order of their numbers.
	ChangesAfter(ctx context.Context, seq int64, missing []int64, n int) ([]LeadChange, error)

	// ListenForChanges calls wake soon after leads may have changed, until ctx ends. It may
	// miss what other processes change, so the caller also asks from time to time. There is
	// one listener at a time.
	ListenForChanges(ctx context.Context, wake func())

	// PruneChanges removes changes made before a time, except for the newest, and returns
	// their number.
	PruneChanges(ctx context.Context, before time.Time) (int64, error)
}
