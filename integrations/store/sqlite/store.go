package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
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

// pruneLimit is how many old sessions are removed in one transaction.
const pruneLimit = 100

// readers is the number of connections that read.
const readers = 4

// Store is a [store.Quotes] and a [store.Archive] in one SQLite file.
type Store struct {
	clock  func() time.Time
	cancel func(ctx context.Context, tx *sql.Tx, submissionID string) error

	pools    []*sql.DB
	read     *prepared
	group    *sqlstore.Group[op]
	stop     context.CancelFunc // ends the checkpointer
	stopped  sync.WaitGroup
	closing  sync.Once
	closeErr error
}

var (
	_ store.Quotes  = (*Store)(nil)
	_ store.Archive = (*Store)(nil)
)

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
	s := &Store{clock: o.Clock, cancel: o.Cancel}
	writes, err := s.pool(ctx, o.Path, conns(1), pragma("busy_timeout(0)"), pragma("cache_size(-8000)"))
	if err == nil {
		err = migrate(ctx, writes, o)
	}
	var reads, checkpoints *sql.DB
	if err == nil {
		reads, err = s.pool(ctx, o.Path, conns(readers), pragma("query_only(1)"))
	}
	if err == nil {
		// It gives up soon on readers that are in its way, since the writer waits meanwhile.
		checkpoints, err = s.pool(ctx, o.Path, conns(1), pragma("busy_timeout(20)"))
	}
	if err != nil {
		return nil, errors.Join(err, s.closePools())
	}
	s.read = newPrepared(reads)

	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	c := &checkpointer{pool: checkpoints, gate: o.Gate, log: o.Log, written: make(chan struct{}, 1)}
	s.stopped.Go(func() { c.run(ctx) })

	w := &writer{pool: writes, gate: o.Gate, enqueue: o.Enqueue}
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

// Track stores the latest state of a session and counts it.
func (s *Store) Track(ctx context.Context, v quote.Visit) error {
	row, err := sqlstore.NewSessionRow(v)
	if err != nil {
		return err
	}
	return named("tracking a session", s.group.Do(ctx, &trackOp{row: row}))
}

// Submit stores a submission with its deliveries, or returns the one it repeats.
func (s *Store) Submit(ctx context.Context, n store.NewSubmission) (quote.Submission, bool, error) {
	row, err := sqlstore.NewSubmissionRow(n)
	if err != nil {
		return quote.Submission{}, false, err
	}
	o := &submitOp{row: row, key: n.IdempotencyKey}
	if err := s.group.Do(ctx, o); err != nil {
		return quote.Submission{}, false, named("submitting a quote", err)
	}
	return o.first, o.created, nil
}

// Submission returns a stored submission, or [store.ErrNotFound].
func (s *Store) Submission(ctx context.Context, id string) (quote.Submission, error) {
	q, err := sqlstore.Submission(ctx, s.read, id)
	return q, translate("submission", err)
}

// Session returns the latest state of a session, or [store.ErrNotFound].
func (s *Store) Session(ctx context.Context, id string) (quote.Session, error) {
	q, err := sqlstore.Session(ctx, s.read, id)
	return q, translate("session", err)
}

// Ping writes a time stamp and waits until it is durable.
func (s *Store) Ping(ctx context.Context) error {
	return named("asking for a sign of life", s.group.Do(ctx, &pulseOp{at: s.clock().UnixMilli()}))
}

// Submissions yields stored submissions, oldest first.
func (s *Store) Submissions(ctx context.Context, f store.Filter) iter.Seq2[quote.Submission, error] {
	return translated(sqlstore.Submissions(ctx, s.read, f))
}

// Sessions yields the latest state of each session, in the order of their ids.
func (s *Store) Sessions(ctx context.Context, f store.SessionFilter) iter.Seq2[quote.Session, error] {
	return translated(sqlstore.Sessions(ctx, s.read, f))
}

// CountSubmissions returns the number of stored submissions.
func (s *Store) CountSubmissions(ctx context.Context) (int64, error) {
	n, err := sqlstore.CountSubmissions(ctx, s.read)
	return n, translate("submissions", err)
}

// PruneSessions removes sessions last seen before a time, some at a time, between
// the transactions of others.
func (s *Store) PruneSessions(ctx context.Context, before time.Time) (int64, error) {
	var removed int64
	for after := ""; ; {
		ids, last, err := sqlstore.StaleSessions(ctx, s.read, after, before)
		if err != nil || last == "" {
			return removed, translate("pruning", err)
		}
		after = last
		for some := range slices.Chunk(ids, pruneLimit) {
			o := &pruneOp{ids: some, before: before.UnixMilli()}
			if err := s.group.Do(ctx, o); err != nil {
				return removed, named("pruning", err)
			}
			removed += o.removed
		}
	}
}

// Erase removes a submission with its pending deliveries, or returns [store.ErrNotFound].
func (s *Store) Erase(ctx context.Context, id string) error {
	o := &eraseOp{id: id, cancel: s.cancel}
	if err := s.group.Do(ctx, o); err != nil {
		return named("erasing a submission", err)
	}
	return named("erasing a submission", o.missing)
}

// Close lets the requests that wait be written, copies the log back and closes the file.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.group.Close()
		s.stop()
		s.stopped.Wait()
		s.closeErr = s.closePools()
	})
	return s.closeErr
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

// named adds what was tried to an error that is translated already.
func named(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, err)
}

// translated translates the errors of a listing.
func translated[T any](rows iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range rows {
			if !yield(v, translate("listing", err)) {
				return
			}
		}
	}
}
