package sqlstore

import (
	"context"
	"fmt"
	"time"
)

// NextChange implements [store.Edge].
func (s *Store) NextChange(ctx context.Context, receivers []string) (number int64, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx Tx) error {
		err := one(ctx, tx, `UPDATE edge_changes SET number = number + 1 RETURNING number`, nil, &number)
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
	if err != nil {
		return 0, fmt.Errorf("counting a change of the content: %w", err)
	}
	return number, nil
}

// ToldOf implements [store.Edge].
func (s *Store) ToldOf(ctx context.Context, receiver string) (told, latest int64, err error) {
	err = one(ctx, s.db, `SELECT told, (SELECT number FROM edge_changes) FROM edge_receivers WHERE name = $1`,
		[]any{receiver}, &told, &latest)
	if err != nil {
		return 0, 0, fmt.Errorf("reading what a receiver was told: %w", err)
	}
	return told, latest, nil
}

// BeginCall implements [store.Edge].
func (s *Store) BeginCall(
	ctx context.Context, receiver string, interval time.Duration,
) (latest int64, rest time.Duration, err error) {
	n, err := s.db.Exec(ctx, `UPDATE edge_receivers SET called_at = (SELECT now FROM clock)
WHERE name = $1 AND called_at <= (SELECT now FROM clock) - $2`, receiver, interval.Milliseconds())
	if err == nil {
		var passed int64
		err = one(ctx, s.db, `SELECT (SELECT number FROM edge_changes), (SELECT now FROM clock) - called_at
FROM edge_receivers WHERE name = $1`, []any{receiver}, &latest, &passed)
		rest = max(interval-time.Duration(passed)*time.Millisecond, time.Millisecond)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("beginning a call of a receiver: %w", err)
	}
	if n > 0 {
		rest = 0
	}
	return latest, rest, nil
}

// EndCall implements [store.Edge]. What changed during the call is told of by its own jobs.
func (s *Store) EndCall(ctx context.Context, receiver string, latest int64, again bool) error {
	_, err := s.db.Exec(ctx, `UPDATE edge_receivers SET
told = CASE WHEN told < $2 THEN $2 ELSE told END,
behind_since = CASE WHEN $3 = 0 THEN behind_since
  WHEN $2 < (SELECT number FROM edge_changes) THEN called_at ELSE 0 END
WHERE name = $1`, receiver, latest, number(again))
	if err != nil {
		return fmt.Errorf("storing what a receiver was told: %w", err)
	}
	return nil
}

// Behind implements [store.Edge].
func (s *Store) Behind(ctx context.Context) (map[string]time.Duration, error) {
	behind := map[string]time.Duration{}
	err := s.db.Query(ctx, `SELECT name, (SELECT now FROM clock) - behind_since FROM edge_receivers
WHERE behind_since > 0`, nil, func(scan Scan) error {
		var name string
		var since int64
		err := scan(&name, &since)
		behind[name] = time.Duration(since) * time.Millisecond
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading which receivers are behind: %w", err)
	}
	return behind, nil
}
