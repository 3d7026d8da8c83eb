package postgres

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// Options say how to open a [Store].
type Options struct {
	// URL of the database: postgres://user:password@host/name?settings.
	URL string
	// Enqueue creates the deliveries of new submissions inside the transaction that
	// stores them. nil: none.
	Enqueue func(ctx context.Context, tx pgx.Tx, submissionIDs []string) error
	// Cancel removes the pending deliveries of a submission that is being erased. nil: none.
	Cancel func(ctx context.Context, tx pgx.Tx, submissionID string) error
	// UnderWay returns those of some submissions whose deliveries aren't finished. nil: none.
	UnderWay func(ctx context.Context, tx pgx.Tx, submissionIDs []string) ([]string, error)
	// Clock tells the time. nil: time.Now.
	Clock func() time.Time
	// Log takes what an operator should know. nil: nothing is logged.
	Log *slog.Logger
}

// limits of the group of tracked states. Two statements under way keep the server
// busy while one of them travels.
const (
	batchLimit = 256
	queueLimit = 4096
	lanes      = 2
)

// Store is a [store.Quotes] and a [store.Archive] in PostgreSQL.
type Store struct {
	o      Options
	pool   pool
	tracks *sqlstore.Group[sqlstore.SessionRow]
}

var (
	_ store.Quotes  = (*Store)(nil)
	_ store.Archive = (*Store)(nil)
)

// Open connects to the database and brings its tables up to date. It waits up to
// [StartTimeout] for a database that is away.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p, err := openPool(ctx, o.URL, bounded)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, p, o.Log); err != nil {
		p.Close()
		return nil, err
	}
	s := &Store{o: o, pool: pool{p}}
	s.tracks = sqlstore.NewGroup(context.WithoutCancel(ctx),
		sqlstore.Limits{Batch: batchLimit, Queue: queueLimit, Lanes: lanes}, s.track)
	return s, nil
}

// Track stores the latest state of a session and counts it.
func (s *Store) Track(ctx context.Context, v quote.Visit) error {
	row, err := sqlstore.NewSessionRow(v)
	if err != nil {
		return err
	}
	return translate("tracking a session", s.tracks.Do(ctx, row))
}

// track stores a batch of visits in one statement.
func (s *Store) track(ctx context.Context, visits []sqlstore.SessionRow) error {
	sessions := make(map[string]sqlstore.SessionRow, len(visits))
	for _, v := range visits {
		if first, ok := sessions[v.ID]; ok {
			first.Add(v)
			v = first
		}
		sessions[v.ID] = v
	}
	// Rows are locked in the order of their ids, in every lane and every instance, so
	// that no two statements wait for each other.
	rows := slices.SortedFunc(maps.Values(sessions), func(a, b sqlstore.SessionRow) int { return strings.Compare(a.ID, b.ID) })
	return translate("storing sessions", s.storeSessions(ctx, sqlstore.UpsertMany, false, rows))
}

// Submit stores a submission with its deliveries, or returns the one it repeats.
func (s *Store) Submit(ctx context.Context, n store.NewSubmission) (first quote.Submission, created bool, err error) {
	row, err := sqlstore.NewSubmissionRow(n)
	if err != nil {
		return quote.Submission{}, false, err
	}
	err = s.pool.transact(ctx, true, func(ctx context.Context, tx pgx.Tx, t trial) error {
		first, created, err = sqlstore.Submit(ctx, executor{tx}, row, n.IdempotencyKey)
		if err != nil {
			return err
		}
		if created && row.Held == 0 {
			return s.enqueue(ctx, tx, first.ID)
		}
		// It may be ours: stored, with its deliveries, by the try whose answer was lost.
		created = created || t.lost && first.ID == row.ID
		return nil
	})
	if err != nil {
		return quote.Submission{}, false, translate("submitting a quote", err)
	}
	return first, created, nil
}

func (s *Store) enqueue(ctx context.Context, tx pgx.Tx, ids ...string) error {
	if s.o.Enqueue == nil || len(ids) == 0 {
		return nil
	}
	if err := s.o.Enqueue(ctx, tx, ids); err != nil {
		return fmt.Errorf("creating the deliveries: %w", err)
	}
	return nil
}

// Submission returns a stored submission, or [store.ErrNotFound].
func (s *Store) Submission(ctx context.Context, id string) (quote.Submission, error) {
	q, err := sqlstore.Submission(ctx, s.pool, id)
	return q, translate("submission", err)
}

// Session returns the latest state of a session, or [store.ErrNotFound].
func (s *Store) Session(ctx context.Context, id string) (quote.Session, error) {
	q, err := sqlstore.Session(ctx, s.pool, id)
	return q, translate("session", err)
}

// Ping writes a time stamp and waits until it is durable.
func (s *Store) Ping(ctx context.Context) error {
	return translate("asking for a sign of life", sqlstore.Pulse(ctx, s.pool, s.o.Clock().UnixMilli()))
}

// Submissions yields stored submissions, oldest first.
func (s *Store) Submissions(ctx context.Context, f store.Filter) iter.Seq2[quote.Submission, error] {
	return translated(sqlstore.Submissions(ctx, s.pool, f))
}

// Sessions yields the latest state of each session, in the order of their ids.
func (s *Store) Sessions(ctx context.Context, f store.SessionFilter) iter.Seq2[quote.Session, error] {
	return translated(sqlstore.Sessions(ctx, s.pool, f))
}

// CountSubmissions returns the number of stored submissions.
func (s *Store) CountSubmissions(ctx context.Context) (int64, error) {
	n, err := sqlstore.CountSubmissions(ctx, s.pool)
	return n, translate("submissions", err)
}

// Held returns the number of submissions held for review and when the oldest was submitted.
func (s *Store) Held(ctx context.Context) (int64, time.Time, error) {
	n, oldest, err := sqlstore.Held(ctx, s.pool)
	return n, oldest, translate("submissions", err)
}

// Release ends the hold of a submission and creates its deliveries.
func (s *Store) Release(ctx context.Context, id string) (released bool, err error) {
	err = s.pool.transact(ctx, true, func(ctx context.Context, tx pgx.Tx, t trial) error {
		released, err = sqlstore.Release(ctx, executor{tx}, id)
		if err != nil || !released {
			// The try whose answer was lost may have released it, with its deliveries.
			released = err == nil && t.lost
			return err
		}
		return s.enqueue(ctx, tx, id)
	})
	return released && err == nil, translate("releasing a submission", err)
}

// Load returns how busy the store is.
func (s *Store) Load() store.Load {
	stats := s.pool.Stat()
	return store.Load{Waiting: s.tracks.Waiting(), Busy: int(stats.AcquiredConns()), Idle: int(stats.IdleConns())}
}

// PruneSessions removes sessions last seen before a time, some at a time.
func (s *Store) PruneSessions(ctx context.Context, before time.Time) (int64, error) {
	var removed int64
	for after := ""; ; {
		ids, last, err := sqlstore.StaleSessions(ctx, s.pool, after, before)
		if err != nil || last == "" {
			return removed, translate("pruning", err)
		}
		after = last
		if len(ids) == 0 {
			continue
		}
		n, err := s.pool.Exec(ctx, `DELETE FROM sessions WHERE id = ANY($1) AND last_seen < $2`, ids, before.UnixMilli())
		if err != nil {
			return removed, translate("pruning", err)
		}
		removed += n
	}
}

// Close lets the requests that wait be written and closes all connections.
func (s *Store) Close() error {
	s.tracks.Close()
	s.pool.Close()
	return nil
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
