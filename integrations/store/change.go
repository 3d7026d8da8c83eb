package store

import (
	"context"
	"time"
)

// LeadChange is a recorded change of a lead, its deliveries or its notes.
type LeadChange struct {
	Seq  int64
	At   time.Time
	Lead string // id of the lead
	Kind ChangeKind
}

// ChangeKind is the kind of a change.
type ChangeKind int

// The kinds of changes. The store persists their numbers.
const (
	LeadCreated ChangeKind = 1
	LeadChanged ChangeKind = 2
	LeadErased  ChangeKind = 3
)

// ChangeUnseen bounds how long a recorded change can stay invisible because its
// transaction is not committed yet. Write transactions end within ten seconds.
const ChangeUnseen = 15 * time.Second

// Changes lists changes of leads. Each is recorded in the transaction that makes it, with
// the database's time.
type Changes interface {
	// ChangesSince returns up to n changes recorded at or after since, ordered by number,
	// and the database's time before the query.
	ChangesSince(ctx context.Context, since time.Time, n int) (changes []LeadChange, now time.Time, err error)

	// PruneChanges removes the changes recorded before a time and returns their number.
	PruneChanges(ctx context.Context, before time.Time) (int64, error)
}
