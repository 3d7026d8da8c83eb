package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// PruneSubmissions erases the submissions made before a time, some at a time.
func (s *Store) PruneSubmissions(ctx context.Context, before time.Time) (int64, error) {
	var removed int64
	for after := (sqlstore.Place{}); ; {
		ids, last, err := sqlstore.OldSubmissions(ctx, s.pool, after, before)
		if err != nil || len(ids) == 0 {
			return removed, translate("pruning submissions", err)
		}
		after = last
		for some := range slices.Chunk(ids, sqlstore.EraseLimit) {
			var n int64
			err := s.pool.transact(ctx, true, func(ctx context.Context, tx pgx.Tx, _ trial) error {
				n, err = sqlstore.Prune(ctx, executor{tx}, some, s.hooks(ctx, tx))
				return err
			})
			if err != nil {
				return removed, translate("pruning submissions", err)
			}
			removed += n
		}
	}
}

// Erase removes a submission with its pending deliveries, or returns [store.ErrNotFound].
func (s *Store) Erase(ctx context.Context, id string) error {
	err := s.pool.transact(ctx, true, func(ctx context.Context, tx pgx.Tx, t trial) error {
		err := sqlstore.Erase(ctx, executor{tx}, id, s.hooks(ctx, tx))
		if t.lost && errors.Is(err, store.ErrNotFound) {
			return nil // the try whose answer was lost removed it
		}
		return err
	})
	return translate("erasing a submission", err)
}

// CountHints returns the number of sessions in which an address was typed.
func (s *Store) CountHints(ctx context.Context, email string) (int64, error) {
	n, err := sqlstore.CountHints(ctx, s.pool, email)
	return n, translate("looking for an address", err)
}

// EraseHints removes what was typed of the contact form from those sessions, some at a time.
func (s *Store) EraseHints(ctx context.Context, email string) (removed int64, err error) {
	err = sqlstore.InChunks(sqlstore.Hinted(ctx, s.pool, email), func(some []string) error {
		var n int64
		err := s.pool.transact(ctx, true, func(ctx context.Context, tx pgx.Tx, _ trial) error {
			n, err = sqlstore.EraseHints(ctx, executor{tx}, email, some)
			return err
		})
		removed += n
		return err
	})
	return removed, translate("erasing contact hints", err)
}

// hooks binds the options' hooks to a transaction.
func (s *Store) hooks(ctx context.Context, tx pgx.Tx) sqlstore.Hooks {
	var h sqlstore.Hooks
	if s.o.UnderWay != nil {
		h.UnderWay = func(ids []string) ([]string, error) { return s.o.UnderWay(ctx, tx, ids) }
	}
	if s.o.Cancel != nil {
		h.Cancel = func(id string) error { return s.o.Cancel(ctx, tx, id) }
	}
	return h
}
