package store

import (
	"context"
	"time"
)

// NextChange records a change that the receivers must be notified of and returns its
// number.
func (s *Store) NextChange(ctx context.Context, receivers []string) (number int64, err error) {
	err = s.write(ctx, "recording a content change", func(ctx context.Context, tx Tx) error {
		number, err = one[int64](ctx, tx, "numbering it",
			`UPDATE edge_changes SET number = number + 1 RETURNING number`)
		if err != nil {
			return err
		}

		for _, name := range receivers {
			_, err := tx.Exec(ctx, `INSERT INTO edge_receivers (name, behind_since)
SELECT CAST($1 AS text), now FROM clock WHERE true
ON CONFLICT (name) DO UPDATE SET behind_since = excluded.behind_since
WHERE edge_receivers.behind_since = 0`, name)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return number, err
}

// Notified returns the number of the last change that a receiver was notified of, and the
// number of the latest change.
func (s *Store) Notified(ctx context.Context, receiver string) (notified, latest int64, err error) {
	type row struct{ Notified, Latest int64 }
	r, err := one[row](ctx, s.db, "reading the last notification of a receiver",
		`SELECT notified, (SELECT number FROM edge_changes) AS latest
FROM edge_receivers WHERE name = $1`, receiver)
	return r.Notified, r.Latest, err
}

// BeginCall records the start of a call to a receiver and returns the number of the
// latest change. It returns ErrNotFound if the previous call began less than the interval
// ago.
func (s *Store) BeginCall(
	ctx context.Context, receiver string, interval time.Duration,
) (latest int64, err error) {
	err = s.write(ctx, "beginning a call to a receiver", func(ctx context.Context, tx Tx) error {
		latest, err = one[int64](ctx, tx, "recording its time", `UPDATE edge_receivers
SET called_at = (SELECT now FROM clock)
WHERE name = $1 AND called_at <= (SELECT now FROM clock) - $2 RETURNING (SELECT number FROM edge_changes)`,
			receiver, interval.Milliseconds())
		return err
	})
	return latest, err
}

// EndCall records that a receiver was notified of all changes up to a number. A receiver
// that was not notified of the latest change is behind since this call.
func (s *Store) EndCall(ctx context.Context, receiver string, number int64) error {
	_, err := s.exec(ctx, "storing the notification of a receiver", `UPDATE edge_receivers SET
notified = CASE WHEN notified < $2 THEN $2 ELSE notified END,
behind_since = CASE WHEN $2 < (SELECT number FROM edge_changes) AND notified < (SELECT number FROM edge_changes)
THEN (SELECT now FROM clock) ELSE 0 END
WHERE name = $1`, receiver, number)
	return err
}

// Behind returns for how long each receiver has not been notified of the latest change.
func (s *Store) Behind(ctx context.Context) (map[string]time.Duration, error) {
	type row struct {
		Name   string
		Behind int64
	}
	list, err := all[row](ctx, s.db, "finding the receivers that are behind",
		`SELECT name, (SELECT now FROM clock) - behind_since AS behind
FROM edge_receivers WHERE behind_since > 0`)

	behind := map[string]time.Duration{}
	for _, r := range list {
		behind[r.Name] = time.Duration(r.Behind) * time.Millisecond
	}
	return behind, err
}
