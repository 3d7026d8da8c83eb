package sqlstore

import (
	"context"
	"fmt"
	"time"
)

// Held returns the number of submissions held for review and when the oldest of them
// was submitted.
func Held(ctx context.Context, db DB) (int64, time.Time, error) {
	var number, oldest int64
	err := one(ctx, db, `SELECT count(*), coalesce(min(submitted_at), 0) FROM submissions WHERE held = 1`, nil, &number, &oldest)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("counting the held submissions: %w", err)
	}
	if number == 0 {
		return 0, time.Time{}, nil
	}
	return number, time.UnixMilli(oldest).UTC(), nil
}

// Release ends the hold of a submission inside the transaction db, in which the caller
// creates its deliveries, and reports whether it was held. It returns
// [store.ErrNotFound] if there is no such submission.
func Release(ctx context.Context, db DB, id string) (bool, error) {
	n, err := db.Exec(ctx, `UPDATE submissions SET held = 0 WHERE id = $1 AND held = 1`, id)
	if err != nil {
		return false, fmt.Errorf("ending the hold: %w", err)
	}
	if n == 1 {
		return true, nil
	}
	var held int64
	if err := one(ctx, db, `SELECT held FROM submissions WHERE id = $1`, []any{id}, &held); err != nil {
		return false, fmt.Errorf("finding the submission: %w", err)
	}
	return false, nil
}
