package sqlstore

import (
	"context"
	"time"

	"siteapi/integrations/store"
)

// InReview returns the number of leads in review and the time the oldest was
// submitted.
func (s *Store) InReview(ctx context.Context) (number int64, oldest time.Time, err error) {
	var at int64
	err = one(ctx, s.db,
		`SELECT count(*), coalesce(min(submitted_at), 0) FROM leads WHERE review = 1`, nil,
		&number, &at)
	if err != nil || number == 0 {
		return 0, time.Time{}, err
	}
	return number, time.UnixMilli(at).UTC(), nil
}

// Reject ends the review of a lead without a delivery.
func (s *Store) Reject(ctx context.Context, id string, audit ...store.AuditEntry) (bool, error) {
	return s.review(ctx, id, rejected, "review = 1", audit)
}

// Release ends the review of a lead, or revokes its rejection, and creates its
// deliveries.
func (s *Store) Release(
	ctx context.Context, id string, undecided bool, audit ...store.AuditEntry,
) (bool, error) {
	if undecided {
		return s.review(ctx, id, released, "review = 1", audit)
	}
	return s.review(ctx, id, released, "review > 0", audit)
}

// review stores the outcome of a review. It reports whether the lead met a condition, and
// changes nothing otherwise.
func (s *Store) review(
	ctx context.Context, id string, outcome int64, condition string, audit []store.AuditEntry,
) (done bool, err error) {
	err = s.write(ctx, "ending a review", func(ctx context.Context, tx Tx) error {
		n, err := tx.Exec(ctx, `UPDATE leads SET review = $1 WHERE id = $2 AND `+condition, outcome, id)

		done = n == 1
		switch {
		case err != nil:
			return err
		case !done:
			return one(ctx, tx, `SELECT id FROM leads WHERE id = $1`, []any{id}, new(string))
		case outcome == released:
			if err := enqueue(ctx, tx, []string{id}); err != nil {
				return err
			}
		}
		return appendAudit(ctx, tx, audit)
	})
	return done && err == nil, err
}
