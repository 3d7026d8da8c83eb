package store

import (
	"context"
	"time"
)

// InReview returns the number of leads in review and the submission time of the oldest
// one.
func (s *Store) InReview(ctx context.Context) (number int64, oldest time.Time, err error) {
	r, err := one[struct {
		Number int64
		Oldest time.Time
	}](ctx, s.db, "counting the leads in review",
		`SELECT count(*) AS number, coalesce(min(submitted_at), 0) AS oldest FROM leads WHERE review = 1`)
	return r.Number, r.Oldest, err
}

// Reject ends the review of a lead without delivering it.
func (s *Store) Reject(ctx context.Context, id string, audit ...AuditEntry) (bool, error) {
	return s.change(ctx, "rejecting a lead", id, audit, nil,
		`UPDATE leads SET review = 2 WHERE id = $1 AND review = 1`)
}

// Release ends the review of a lead, or revokes its rejection, and creates its
// deliveries.
func (s *Store) Release(
	ctx context.Context, id string, undecided bool, audit ...AuditEntry,
) (released bool, err error) {
	condition := "review > 0"
	if undecided {
		condition = "review = 1"
	}
	return s.change(ctx, "releasing a lead", id, audit,
		func(tx Tx) { *tx.Submitted = append(*tx.Submitted, id) },
		`UPDATE leads SET review = 0 WHERE id = $1 AND `+condition)
}
