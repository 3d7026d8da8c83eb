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

// ChangeUnseen is how long a change may not be seen yet: its transaction has not been
// committed. A transaction that writes ends within ten seconds.
const ChangeUnseen = 15 * time.Second

// Changes tells what changed of leads. Each change is recorded in its own transaction, with
// the database's time.
type Changes interface {
	// ChangesSince returns the changes at a time or later in the order of their numbers, up
	// to n, and the database's time before it looked.
	ChangesSince(ctx context.Context, since time.Time, n int) (changes []LeadChange, now time.Time, err error)

	// PruneChanges removes changes made before a time, and returns their number.
	PruneChanges(ctx context.Context, before time.Time) (int64, error)
}
