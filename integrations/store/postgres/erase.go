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

// Traces looks for an address beside the submissions made with it.
func (s *Store) Traces(ctx context.Context, email string) (store.Traces, error) {
	t, err := sqlstore.CountTraces(ctx, s.pool, email)
	return t, translate("looking for an address", err)
}

// EraseTraces removes what Traces finds, some at a time.
func (s *Store) EraseTraces(ctx context.Context, email string) (t store.Traces, err error) {
	forget := func(sessions []string, repeats []sqlstore.RepeatKey) error {
		var removed store.Traces
		err := s.pool.transact(ctx, true, func(ctx context.Context, tx pgx.Tx, _ trial) error {
			removed, err = sqlstore.ForgetTraces(ctx, executor{tx}, email, sessions, repeats)
			return err
		})
		t.Sessions += removed.Sessions
		t.Repeats += removed.Repeats
		return err
	}
	err = sqlstore.InChunks(sqlstore.Hinted(ctx, s.pool, email), func(some []string) error { return forget(some, nil) })
	if err == nil {
		err = sqlstore.InChunks(sqlstore.Repeated(ctx, s.pool, email), func(some []sqlstore.RepeatKey) error { return forget(nil, some) })
	}
	return t, translate("erasing the traces of an address", err)
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
