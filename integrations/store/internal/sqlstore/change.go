package sqlstore

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/store"
)

// ChangesSince implements [store.Changes].
func (s *Store) ChangesSince(
	ctx context.Context, since time.Time, n int,
) (list []store.LeadChange, now time.Time, err error) {
	var at int64
	if err := one(ctx, s.db, `SELECT now FROM clock`, nil, &at); err != nil {
		return nil, time.Time{}, fmt.Errorf("reading the database's time: %w", err)
	}
	now = time.UnixMilli(at).UTC()

	query := fmt.Sprintf(`SELECT seq, at, lead, kind FROM lead_changes WHERE at >= $1 ORDER BY seq LIMIT %d`, n)
	err = s.db.Query(ctx, query, []any{since.UnixMilli()}, func(scan Scan) error {
		var change store.LeadChange
		err := scan(&change.Seq, &at, &change.Lead, &change.Kind)
		change.At = time.UnixMilli(at).UTC()
		list = append(list, change)
		return err
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("reading what changed of leads: %w", err)
	}
	return list, now, nil
}

// PruneChanges implements [store.Changes].
func (s *Store) PruneChanges(ctx context.Context, before time.Time) (int64, error) {
	n, err := s.db.Exec(ctx, `DELETE FROM lead_changes WHERE at < $1`, before.UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("removing old changes of leads: %w", err)
	}
	return n, nil
}
