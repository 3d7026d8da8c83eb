package store

import (
	"context"
	"time"
)

// Call describes a call to a receiver of content changes.
type Call struct {
	Change int64         // number of the receiver's latest change
	Owed   int           // calls owed since then
	Wait   time.Duration // time before the call may begin
}

// Receiver is a receiver of content changes.
type Receiver struct {
	Name  string
	Calls int // calls after a change

	Every time.Duration // minimum time between two calls
	Quiet time.Duration // time without a change before a call, for at most quietTimes as long
}

// quietTimes limits how long a call waits for a time without a change.
const quietTimes = 10

// MaxQuiet is the longest time between a change and a call.
func (r Receiver) MaxQuiet() time.Duration { return quietTimes * r.Quiet }

// NextChange records a change that the receivers must be notified of, and returns its
// number for each of them.
func (s *Store) NextChange(ctx context.Context, receivers []Receiver) (numbers []int64, err error) {
	err = s.write(ctx, "recording a content change", func(ctx context.Context, tx Tx) error {
		numbers = nil

		for _, r := range receivers {
			number, err := one[int64](ctx, tx, "numbering it",
				`INSERT INTO edge_receivers (name, change, owed, behind_since, changed_at)
SELECT CAST($1 AS text), 1, CAST($2 AS bigint), now, now FROM clock WHERE true
ON CONFLICT (name) DO UPDATE SET change = edge_receivers.change + 1, owed = excluded.owed,
  changed_at = excluded.changed_at, behind_since =
  CASE edge_receivers.behind_since WHEN 0 THEN excluded.behind_since ELSE edge_receivers.behind_since END
RETURNING change`, r.Name, r.Calls)
			if err != nil {
				return err
			}
			numbers = append(numbers, number)
		}

		return nil
	})
	return numbers, err
}

// BeginCall begins a call to a receiver, unless none is owed or it is too early for the
// next one.
func (s *Store) BeginCall(ctx context.Context, r Receiver) (c Call, err error) {
	err = s.write(ctx, "beginning a call to a receiver", func(ctx context.Context, tx Tx) error {
		// The update serializes the calls of all instances.
		type row struct {
			Call
			Quiet time.Duration
		}
		next, err := one[row](ctx, tx, "finding it",
			`UPDATE edge_receivers SET called_at = called_at WHERE name = $1
RETURNING change, owed, (called_at + $2 - (SELECT now FROM clock)) * 1000000 AS wait,
  (CASE WHEN changed_at + $3 < behind_since + $4 THEN changed_at + $3 ELSE behind_since + $4 END -
  (SELECT now FROM clock)) * 1000000 AS quiet`,
			r.Name, r.Every.Milliseconds(), r.Quiet.Milliseconds(), r.MaxQuiet().Milliseconds())

		c = next.Call
		c.Wait = max(c.Wait, next.Quiet)
		if err != nil || c.Owed == 0 || c.Wait > 0 {
			return err
		}
		_, err = tx.Exec(ctx,
			`UPDATE edge_receivers SET called_at = (SELECT now FROM clock) WHERE name = $1`, r.Name)
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
