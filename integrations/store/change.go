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

// ChangesSince returns up to n changes recorded at or after since, ordered by number, and
// the database's time before the query.
func (s *Store) ChangesSince(
	ctx context.Context, since time.Time, n int,
) (list []LeadChange, now time.Time, err error) {
	at, err := one[int64](ctx, s.db, "reading the database's time", `SELECT now FROM clock`)
	if err != nil {
		return nil, time.Time{}, err
	}

	list, err = all[LeadChange](ctx, s.db, "reading the changes of leads",
		`SELECT seq, at, lead, kind FROM lead_changes WHERE at >= $1 ORDER BY seq LIMIT $2`, since, n)
	return list, time.UnixMilli(at).UTC(), err
}

// PruneChanges removes the changes recorded before a time and returns their number.
func (s *Store) PruneChanges(ctx context.Context, before time.Time) (int64, error) {
	return s.exec(ctx, "removing old changes of leads", `DELETE FROM lead_changes WHERE at < $1`, before)
}
