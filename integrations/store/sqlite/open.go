package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"siteapi/integrations/store/internal/sqlstore"
)

// Options say how to open a [Store].
type Options struct {
	// Path of the database file. Its folder is created if it is missing.
	Path string
	// Enqueue creates the deliveries of new submissions inside the transaction that
	// stores them. It is called once per transaction with all ids. nil: none.
	Enqueue func(ctx context.Context, tx *sql.Tx, submissionIDs []string) error
	// Cancel removes the pending deliveries of a submission that is being erased. nil: none.
	Cancel func(ctx context.Context, tx *sql.Tx, submissionID string) error
	// UnderWay returns those of some submissions whose deliveries aren't finished. nil: none.
	UnderWay func(ctx context.Context, tx *sql.Tx, submissionIDs []string) ([]string, error)
	// Gate is shared with the other pools of this process on the same file. nil: there are none.
	Gate *Gate
	// Clock tells the time. nil: time.Now.
	Clock func() time.Time
	// Log takes what an operator should know. nil: nothing is logged.
	Log *slog.Logger
}

// limits of the queue: a batch is written within some milliseconds, and a full queue
// within a second on a slow disk.
const (
	batchLimit = 256
	queueLimit = 4096
)

// readers is the number of connections that read.
const readers = 4

// Open opens the database, brings its tables up to date and starts the writer.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Gate == nil {
		o.Gate = new(Gate)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{clock: o.Clock, hooks: hooks{underWay: o.UnderWay, cancel: o.Cancel}}
	writes, err := s.pool(ctx, o.Path, conns(1), busy(0))
	if err == nil {
		err = migrate(ctx, writes, o)
	}
	var reads, checkpoints *sql.DB
	if err == nil {
		reads, err = s.pool(ctx, o.Path, conns(readers), pragma("query_only(1)"))
	}
	if err == nil {
		// It gives up soon on readers that are in its way, since the writer waits meanwhile.
		checkpoints, err = s.pool(ctx, o.Path, conns(1), busy(20*time.Millisecond))
	}
	if err != nil {
		return nil, errors.Join(err, s.closePools())
	}
	s.read = newPrepared(reads)

	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	c := &checkpointer{pool: checkpoints, gate: o.Gate, log: o.Log, written: make(chan struct{}, 1)}
	s.stopped.Go(func() { c.run(ctx) })

	w := &writer{pool: writes, gate: o.Gate, enqueue: o.Enqueue}
	s.disconnect = w.discard
	// The writer's context never ends: the driver starts a goroutine per statement to
	// watch one that may.
	s.group = sqlstore.NewGroup(context.WithoutCancel(ctx), sqlstore.Limits{Batch: batchLimit, Queue: queueLimit, Lanes: 1},
		func(ctx context.Context, ops []op) error {
			err := w.commit(ctx, ops)
			c.note(err)
			return err
		})
	return s, nil
}

func (s *Store) pool(ctx context.Context, path string, opts ...DBOption) (*sql.DB, error) {
	db, err := OpenDB(ctx, path, opts...)
	if err == nil {
		s.pools = append(s.pools, db)
	}
	return db, err
}

func (s *Store) closePools() error {
	var errs []error
	for _, db := range s.pools {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

// migrate holds SQLite's write lock while it looks and changes, so that processes
// starting at once do it one after the other.
func migrate(ctx context.Context, db *sql.DB, o Options) error {
	o.Gate.turn.Lock()
	defer o.Gate.turn.Unlock()
	var tx *sql.Tx
	if err := patiently(ctx, func() (err error) {
		tx, err = db.BeginTx(ctx, nil)
		return err
	}); err != nil {
		return translate("waiting for the tables", err)
	}
	names, err := sqlstore.Migrate(ctx, plain{tx}, sqlstore.SQLite)
	if err != nil {
		return translate("bringing the tables up to date", errors.Join(err, tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return translate("bringing the tables up to date", err)
	}
	for _, name := range names {
		o.Log.Info("applied a migration", "migration", name)
	}
	return nil
}
