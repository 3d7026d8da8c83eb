package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"siteapi/integrations/store"
)

// LastChanges implements [store.Changes].
func (s *Store) LastChanges(ctx context.Context, n int) ([]store.LeadChange, error) {
	list, err := s.readChanges(ctx, conditions{}, fmt.Sprintf(" ORDER BY seq DESC LIMIT %d", n))
	slices.Reverse(list)
	return list, err
}

// ChangesAfter implements [store.Changes].
func (s *Store) ChangesAfter(
	ctx context.Context, seq int64, missing []int64, n int,
) ([]store.LeadChange, error) {
	var c conditions
	c.add("seq > ?", seq)
	for _, n := range missing {
		c.terms[0] += fmt.Sprintf(" OR seq = %d", n)
	}
	return s.readChanges(ctx, c, fmt.Sprintf(" ORDER BY seq LIMIT %d", n))
}

func (s *Store) readChanges(ctx context.Context, c conditions, end string) (list []store.LeadChange, err error) {
	query := "SELECT seq, at, lead, kind FROM lead_changes" + c.where() + end
	err = s.db.Query(ctx, query, c.args, func(scan Scan) error {
		var change store.LeadChange
		var at int64
		err := scan(&change.Seq, &at, &change.Lead, &change.Kind)
		change.At = time.UnixMilli(at).UTC()
		list = append(list, change)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading what changed of leads: %w", err)
	}
	return list, nil
}

// ListenForChanges implements [store.Changes].
func (s *Store) ListenForChanges(ctx context.Context, wake func()) { s.db.Listen(ctx, wake) }

// PruneChanges implements [store.Changes].
func (s *Store) PruneChanges(ctx context.Context, before time.Time) (int64, error) {
	n, err := s.db.Exec(ctx,
		`DELETE FROM lead_changes WHERE at < $1 AND seq < (SELECT max(seq) FROM lead_changes)`, before.UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("removing old changes of leads: %w", err)
	}
	return n, nil
}
