package sqlstore

import (
	"context"
	"time"
)

// NextChange implements [store.Edge].
func (s *Store) NextChange(ctx context.Context, receivers []string) (number int64, err error) {
	err = s.write(ctx, "counting a change of the content", func(ctx context.Context, tx Tx) error {
		number, err = one[int64](ctx, tx, "numbering it",
			`UPDATE edge_changes SET number = number + 1 RETURNING number`)
		if err != nil {
			return err
		}

		for _, name := range receivers {
			_, err := tx.Exec(ctx, `INSERT INTO edge_receivers (name, behind_since)
SELECT CAST($1 AS text), now FROM clock WHERE true
ON CONFLICT (name) DO UPDATE SET behind_since = excluded.behind_since WHERE edge_receivers.behind_since = 0`, name)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return number, err
}

// ToldOf implements [store.Edge].
func (s *Store) ToldOf(ctx context.Context, receiver string) (told, latest int64, err error) {
	type row struct{ Told, Latest int64 }
	r, err := one[row](ctx, s.db, "reading what a receiver was told",
		`SELECT told, (SELECT number FROM edge_changes) AS latest FROM edge_receivers WHERE name = $1`, receiver)
	return r.Told, r.Latest, err
}

// BeginCall implements [store.Edge].
func (s *Store) BeginCall(
	ctx context.Context, receiver string, interval time.Duration,
) (latest int64, rest time.Duration, err error) {
	n, err := s.exec(ctx, "beginning a call of a receiver",
		`UPDATE edge_receivers SET called_at = (SELECT now FROM clock)
WHERE name = $1 AND called_at <= (SELECT now FROM clock) - $2`, receiver, interval.Milliseconds())
	if err != nil {
		return 0, 0, err
	}

	type row struct{ Latest, Passed int64 }
	r, err := one[row](ctx, s.db, "reading when a receiver was called",
		`SELECT (SELECT number FROM edge_changes) AS latest, (SELECT now FROM clock) - called_at AS passed
FROM edge_receivers WHERE name = $1`, receiver)
	if n == 0 {
		rest = max(interval-time.Duration(r.Passed)*time.Millisecond, time.Millisecond)
	}
	return r.Latest, rest, err
}

// EndCall implements [store.Edge]. What changed during the call is told of by its own jobs.
func (s *Store) EndCall(ctx context.Context, receiver string, latest int64, again bool) error {
	_, err := s.exec(ctx, "storing what a receiver was told", `UPDATE edge_receivers SET
told = CASE WHEN told < $2 THEN $2 ELSE told END,
behind_since = CASE WHEN $3 = 0 THEN behind_since
  WHEN $2 < (SELECT number FROM edge_changes) THEN called_at ELSE 0 END
WHERE name = $1`, receiver, latest, again)
	return err
}

// Behind implements [store.Edge].
func (s *Store) Behind(ctx context.Context) (map[string]time.Duration, error) {
	type row struct {
		Name   string
		Behind int64
	}
	list, err := all[row](ctx, s.db, "reading which receivers are behind",
		`SELECT name, (SELECT now FROM clock) - behind_since AS behind FROM edge_receivers WHERE behind_since > 0`)

	behind := map[string]time.Duration{}
	for _, r := range list {
		behind[r.Name] = time.Duration(r.Behind) * time.Millisecond
	}
	return behind, err
}
