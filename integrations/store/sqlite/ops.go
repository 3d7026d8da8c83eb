package sqlite

import (
	"context"
	"errors"
	"fmt"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// trackOp stores the latest state of a session.
type trackOp struct{ row sqlstore.SessionRow }

func (o *trackOp) apply(_ context.Context, b *batch) error {
	b.track(o.row)
	return nil
}

// submitOp stores a submission or finds the one it repeats.
type submitOp struct {
	row sqlstore.SubmissionRow
	key string

	first   quote.Submission
	created bool
	refused error // [store.ErrKeyReused], which must not undo the rest of the batch
}

func (o *submitOp) apply(ctx context.Context, b *batch) (err error) {
	o.refused = nil
	o.first, o.created, err = sqlstore.Submit(ctx, b.w.db, o.row, o.key)
	if errors.Is(err, store.ErrKeyReused) {
		o.refused, err = err, nil
	}
	if o.created && o.row.Held == 0 {
		b.created = append(b.created, o.first.ID)
	}
	return err
}

// releaseOp ends the hold of a submission.
type releaseOp struct {
	id string

	released bool
	missing  error // [store.ErrNotFound], which must not undo the rest of the batch
}

func (o *releaseOp) apply(ctx context.Context, b *batch) (err error) {
	o.missing = nil
	o.released, err = sqlstore.Release(ctx, b.w.db, o.id)
	if errors.Is(err, store.ErrNotFound) {
		o.missing, err = err, nil
	}
	if o.released {
		b.created = append(b.created, o.id)
	}
	return err
}

// pulseOp proves that the database takes writes. All of a batch share one write.
type pulseOp struct{ at int64 }

func (o *pulseOp) apply(_ context.Context, b *batch) error {
	b.pulse = max(b.pulse, o.at, 1)
	return nil
}

// pruneOp removes those of some sessions that have not been seen since.
type pruneOp struct {
	ids    []string
	before int64 // milliseconds

	removed int64
}

func (o *pruneOp) apply(ctx context.Context, b *batch) error {
	o.removed = 0
	if err := b.flush(ctx); err != nil {
		return err
	}
	for _, id := range o.ids {
		n, err := b.w.db.Exec(ctx, `DELETE FROM sessions WHERE id = $1 AND last_seen < $2`, id, o.before)
		if err != nil {
			return fmt.Errorf("removing a session: %w", err)
		}
		o.removed += n
	}
	return nil
}
