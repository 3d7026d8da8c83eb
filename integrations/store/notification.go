package store

import (
	"context"
	"time"
)

// Call describes a call to a receiver of content changes. A receiver is owed two calls
// after each change.
type Call struct {
	Change int64         // number of the receiver's latest change
	Owed   int           // calls owed since then
	Wait   time.Duration // time before the call may begin
}

// NextChange records a change that the receivers must be notified of, and returns its
// number for each of them.
func (s *Store) NextChange(ctx context.Context, receivers []string) (numbers []int64, err error) {
	err = s.write(ctx, "recording a content change", func(ctx context.Context, tx Tx) error {
		numbers = nil

		for _, name := range receivers {
			number, err := one[int64](ctx, tx, "numbering it", `INSERT INTO edge_receivers (name, change, owed, behind_since)
SELECT CAST($1 AS text), 1, 2, now FROM clock WHERE true
ON CONFLICT (name) DO UPDATE SET change = edge_receivers.change + 1, owed = 2, behind_since =
  CASE edge_receivers.behind_since WHEN 0 THEN excluded.behind_since ELSE edge_receivers.behind_since END
RETURNING change`, name)
			if err != nil {
				return err
			}
			numbers = append(numbers, number)
		}

		return nil
	})
	return numbers, err
}

// BeginCall begins a call to a receiver, unless none is owed or the previous one began
// less than the interval ago.
func (s *Store) BeginCall(ctx context.Context, receiver string, interval time.Duration) (c Call, err error) {
	err = s.write(ctx, "beginning a call to a receiver", func(ctx context.Context, tx Tx) error {
		// The update serializes the calls of all instances.
		c, err = one[Call](ctx, tx, "finding it", `UPDATE edge_receivers SET called_at = called_at WHERE name = $1
RETURNING change, owed, (called_at + $2 - (SELECT now FROM clock)) * 1000000 AS wait`,
			receiver, interval.Milliseconds())
		if err != nil || c.Owed == 0 || c.Wait > 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE edge_receivers SET called_at = (SELECT now FROM clock) WHERE name = $1`, receiver)
		return err
	})
	return c, err
}

// EndCall records that a call has succeeded that began when a change was the latest. A
// receiver that is owed another call is behind since this one.
func (s *Store) EndCall(ctx context.Context, receiver string, change int64) error {
	_, err := s.exec(ctx, "storing the notification of a receiver", `UPDATE edge_receivers SET
owed = CASE change WHEN $2 THEN owed - 1 ELSE owed END,
behind_since = CASE WHEN change = $2 AND owed = 1 THEN 0 ELSE called_at END
WHERE name = $1 AND owed > 0`, receiver, change)
	return err
}

// Behind returns for how long each receiver has been owed a call.
func (s *Store) Behind(ctx context.Context) (map[string]time.Duration, error) {
	type row struct {
		Name   string
		Behind time.Duration
	}
	list, err := all[row](ctx, s.db, "finding the receivers that are behind",
		`SELECT name, ((SELECT now FROM clock) - behind_since) * 1000000 AS behind
FROM edge_receivers WHERE owed > 0`)

	behind := map[string]time.Duration{}
	for _, r := range list {
		behind[r.Name] = r.Behind
	}
	return behind, err
}
