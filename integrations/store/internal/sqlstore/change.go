package sqlstore

import (
	"context"
	"time"

	"siteapi/integrations/store"
)

// ChangesSince implements [store.Changes].
func (s *Store) ChangesSince(
	ctx context.Context, since time.Time, n int,
) (list []store.LeadChange, now time.Time, err error) {
	at, err := one[int64](ctx, s.db, "reading the database's time", `SELECT now FROM clock`)
	if err != nil {
		return nil, time.Time{}, err
	}

	list, err = all[store.LeadChange](ctx, s.db, "reading the changes of leads",
		`SELECT seq, at, lead, kind FROM lead_changes WHERE at >= $1 ORDER BY seq LIMIT $2`, since, n)
	return list, time.UnixMilli(at).UTC(), err
}

// PruneChanges implements [store.Changes].
func (s *Store) PruneChanges(ctx context.Context, before time.Time) (int64, error) {
	return s.exec(ctx, "removing old changes of leads", `DELETE FROM lead_changes WHERE at < $1`, before)
}
