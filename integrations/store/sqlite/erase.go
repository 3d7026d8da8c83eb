package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// PruneSubmissions erases the submissions made before a time, some at a time, between
// the transactions of others.
func (s *Store) PruneSubmissions(ctx context.Context, before time.Time) (int64, error) {
	var removed int64
	for after := (sqlstore.Place{}); ; {
		ids, last, err := sqlstore.OldSubmissions(ctx, s.read, after, before)
		if err != nil || len(ids) == 0 {
			return removed, translate("pruning submissions", err)
		}
		after = last
		for some := range slices.Chunk(ids, sqlstore.EraseLimit) {
			o := &pruneSubmissionsOp{ids: some, hooks: s.hooks}
			if err := s.group.Do(ctx, o); err != nil {
				return removed, named("pruning submissions", err)
			}
			removed += o.removed
		}
	}
}

// Erase removes a submission with its pending deliveries, or returns [store.ErrNotFound].
func (s *Store) Erase(ctx context.Context, id string) error {
	o := &eraseOp{id: id, hooks: s.hooks}
	if err := s.group.Do(ctx, o); err != nil {
		return named("erasing a submission", err)
	}
	return named("erasing a submission", o.missing)
}

// CountHints returns the number of sessions in which an address was typed.
func (s *Store) CountHints(ctx context.Context, email string) (int64, error) {
	n, err := sqlstore.CountHints(ctx, s.read, email)
	return n, translate("looking for an address", err)
}

// EraseHints removes what was typed of the contact form from those sessions, some at a time.
func (s *Store) EraseHints(ctx context.Context, email string) (removed int64, err error) {
	err = sqlstore.InChunks(sqlstore.Hinted(ctx, s.read, email), func(some []string) error {
		o := &forgetOp{email: email, sessions: some}
		err := s.group.Do(ctx, o)
		removed += o.removed
		return named("erasing contact hints", err)
	})
	return removed, translate("looking for an address", err)
}

// in binds the hooks to a transaction.
func (h hooks) in(ctx context.Context, tx *sql.Tx) sqlstore.Hooks {
	var in sqlstore.Hooks
	if h.underWay != nil {
		in.UnderWay = func(ids []string) ([]string, error) { return h.underWay(ctx, tx, ids) }
	}
	if h.cancel != nil {
		in.Cancel = func(id string) error { return h.cancel(ctx, tx, id) }
	}
	return in
}

// hooks are how erasing reaches the queue of deliveries. Both may be nil.
type hooks struct {
	underWay func(ctx context.Context, tx *sql.Tx, submissionIDs []string) ([]string, error)
	cancel   func(ctx context.Context, tx *sql.Tx, submissionID string) error
}

// eraseOp removes a submission.
type eraseOp struct {
	id    string
	hooks hooks

	missing error // [store.ErrNotFound], which must not undo the rest of the batch
}

func (o *eraseOp) apply(ctx context.Context, b *batch) error {
	o.missing = nil
	if err := b.flush(ctx); err != nil {
		return err
	}
	err := sqlstore.Erase(ctx, b.w.db, o.id, o.hooks.in(ctx, b.tx))
	if errors.Is(err, store.ErrNotFound) {
		o.missing = err
		return nil
	}
	return err
}

// pruneSubmissionsOp removes those of some submissions that nothing is under way for.
type pruneSubmissionsOp struct {
	ids   []string
	hooks hooks

	removed int64
}

func (o *pruneSubmissionsOp) apply(ctx context.Context, b *batch) (err error) {
	if err := b.flush(ctx); err != nil {
		return err
	}
	o.removed, err = sqlstore.Prune(ctx, b.w.db, o.ids, o.hooks.in(ctx, b.tx))
	return err
}

// forgetOp removes what is left of an address in some sessions.
type forgetOp struct {
	email    string
	sessions []string

	removed int64
}

func (o *forgetOp) apply(ctx context.Context, b *batch) (err error) {
	if err := b.flush(ctx); err != nil {
		return err
	}
	o.removed, err = sqlstore.EraseHints(ctx, b.w.db, o.email, o.sessions)
	return err
}
