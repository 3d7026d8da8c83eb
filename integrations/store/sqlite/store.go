package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// pruneLimit is how many old sessions are removed in one transaction.
const pruneLimit = 100

// Store is a [store.Quotes] and a [store.Archive] in one SQLite file.
type Store struct {
	clock func() time.Time
	hooks hooks

	pools      []*sql.DB
	read       *prepared
	group      *sqlstore.Group[op]
	disconnect func()             // closes the connection of the writer, once that has ended
	stop       context.CancelFunc // ends the checkpointer
	stopped    sync.WaitGroup
	closing    sync.Once
	closeErr   error
}

var (
	_ store.Quotes  = (*Store)(nil)
	_ store.Archive = (*Store)(nil)
)

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
	return o.first, o.created, named("submitting a quote", o.refused)
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

// Held returns the number of submissions held for review and when the oldest was submitted.
func (s *Store) Held(ctx context.Context) (int64, time.Time, error) {
	n, oldest, err := sqlstore.Held(ctx, s.read)
	return n, oldest, translate("submissions", err)
}

// Release ends the hold of a submission and creates its deliveries.
func (s *Store) Release(ctx context.Context, id string) (bool, error) {
	o := &releaseOp{id: id}
	if err := s.group.Do(ctx, o); err != nil {
		return false, named("releasing a submission", err)
	}
	return o.released, named("releasing a submission", o.missing)
}

// Load returns how busy the store is.
func (s *Store) Load() store.Load {
	l := store.Load{Waiting: s.group.Waiting()}
	for _, p := range s.pools {
		stats := p.Stats()
		l.Busy += stats.InUse
		l.Idle += stats.Idle
	}
	return l
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

// Close lets the requests that wait be written, copies the log back and closes the file.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.group.Close()
		s.disconnect()
		s.stop()
		s.stopped.Wait()
		s.closeErr = s.closePools()
	})
	return s.closeErr
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
