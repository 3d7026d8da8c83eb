package storecopy_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storecopy"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

// copied is a store of either driver.
type copied interface {
	storetest.Store
	storecopy.Store
}

// opened opens an empty store that hands ids of new submissions to enqueue.
type opened func(t *testing.T, enqueue func(ids []string) error) copied

func openSQLite(t *testing.T, enqueue func(ids []string) error) copied {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{
		Path:    filepath.Join(t.TempDir(), "copy.db"),
		Enqueue: func(_ context.Context, _ *sql.Tx, ids []string) error { return enqueue(ids) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return closed(t, s)
}

func openPostgres(url string) opened {
	return func(t *testing.T, enqueue func(ids []string) error) copied {
		t.Helper()
		s, err := postgres.Open(t.Context(), postgres.Options{
			URL:     url,
			Enqueue: func(_ context.Context, _ pgx.Tx, ids []string) error { return enqueue(ids) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return closed(t, s)
	}
}

func closed(t *testing.T, s copied) copied {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestCopy(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	for name, way := range map[string]struct{ from, to opened }{
		"SQLite to PostgreSQL":     {openSQLite, openPostgres(server.NewDatabase(t))},
		"PostgreSQL to SQLite":     {openPostgres(server.NewDatabase(t)), openSQLite},
		"PostgreSQL to PostgreSQL": {openPostgres(server.NewDatabase(t)), openPostgres(server.NewDatabase(t))},
		"SQLite to SQLite":         {openSQLite, openSQLite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copyAll(t, way.from, way.to)
		})
	}
}

// A copy is interrupted, repeated, and repeated once more after new traffic.
func copyAll(t *testing.T, openFrom, openTo opened) {
	from := openFrom(t, func([]string) error { return nil })
	const leads, sessions = 250, 700
	for i := range leads {
		submit(t, from, i, i, true)
	}
	for i := range sessions {
		track(t, from, i, 0)
	}

	var enqueued []string
	stop := errors.New("pulled the plug")
	interrupted := true
	to := openTo(t, func(ids []string) error {
		if interrupted && len(enqueued) > 50 {
			return stop
		}
		enqueued = append(enqueued, ids...)
		return nil
	})
	o := storecopy.Options{Unfinished: func(_ context.Context, ids []string) ([]string, error) {
		return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id[len(id)-1] == '3' }), nil
	}}
	r, err := storecopy.Copy(t.Context(), from, to, o)
	if !errors.Is(err, stop) || r.Created != 100 {
		t.Fatalf("the interrupted copy gives %+v, %v", r, err)
	}

	interrupted = false
	var told storecopy.Report
	o.Progress = func(r storecopy.Report) { told = r }
	r, err = storecopy.Copy(t.Context(), from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	if want := (storecopy.Report{Sessions: sessions, Submissions: leads, Created: 150, Enqueued: 135}); r != want || told != want {
		t.Errorf("the copy reports %+v, last told %+v, want %+v", r, told, want)
	}
	if len(enqueued) != 225 {
		t.Errorf("%d submissions were enqueued, want 225", len(enqueued))
	}
	same(t, from, to)

	// The old store goes on for a while; so does the new one.
	submit(t, from, 500, 500, true)
	track(t, from, 5, time.Hour)
	track(t, from, 6, time.Hour)
	track(t, to, 7, time.Hour)
	r, err = storecopy.Copy(t.Context(), from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Created != 1 || r.Enqueued != 1 {
		t.Errorf("the last copy reports %+v, want one new submission", r)
	}
	for i, visits := range map[int]int64{5: 2, 6: 2, 7: 2, 8: 1} {
		got, err := to.Session(t.Context(), fmt.Sprint("session-", i))
		if err != nil {
			t.Fatal(err)
		}
		if got.Visits != visits {
			t.Errorf("session %d has %d visits, want %d", i, got.Visits, visits)
		}
	}
	// What a visitor repeats after the move is recognised.
	submit(t, to, 500, 500, false)
}

// The same content may have been submitted to both: both ids stay good.
func TestCopyDouble(t *testing.T) {
	t.Parallel()
	from, to := openSQLite(t, func([]string) error { return nil }), openSQLite(t, func([]string) error { return nil })
	mine, theirs := storetest.Submission(1), storetest.Submission(1)
	theirs.Submission.ID = "theirs"
	for db, n := range map[copied]store.NewSubmission{from: mine, to: theirs} {
		if _, created, err := db.Submit(t.Context(), n); err != nil || !created {
			t.Fatal(created, err)
		}
	}
	for round, want := range []int64{1, 0} {
		r, err := storecopy.Copy(t.Context(), from, to, storecopy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Created != want || r.Enqueued != want {
			t.Errorf("round %d: %+v, want %d new", round, r, want)
		}
	}
	for _, n := range []store.NewSubmission{mine, theirs} {
		if got, err := to.Submission(t.Context(), n.Submission.ID); err != nil || !reflect.DeepEqual(got, n.Submission) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

// What is held for review stays held, and gets its deliveries when it is released.
func TestCopyHeld(t *testing.T) {
	t.Parallel()
	var enqueued []string
	from := openSQLite(t, func([]string) error { return nil })
	to := openSQLite(t, func(ids []string) error { enqueued = append(enqueued, ids...); return nil })
	held := storetest.Suspicious(1)
	for _, n := range []store.NewSubmission{held, storetest.Submission(2)} {
		if _, created, err := from.Submit(t.Context(), n); err != nil || !created {
			t.Fatal(created, err)
		}
	}
	r, err := storecopy.Copy(t.Context(), from, to, storecopy.Options{})
	if err != nil || r.Created != 2 || r.Enqueued != 1 || !slices.Equal(enqueued, []string{"id-000002"}) {
		t.Errorf("the copy reports %+v, %v and enqueued %v", r, err, enqueued)
	}
	if got, err := to.Submission(t.Context(), held.Submission.ID); err != nil || !reflect.DeepEqual(got, held.Submission) {
		t.Errorf("got %+v, %v", got, err)
	}
	if ok, err := to.Release(t.Context(), held.Submission.ID); !ok || err != nil || len(enqueued) != 2 {
		t.Errorf("released %v, %v, enqueued %v", ok, err, enqueued)
	}
}

func TestCopyFails(t *testing.T) {
	t.Parallel()
	from, to := openSQLite(t, func([]string) error { return nil }), openSQLite(t, func([]string) error { return nil })
	submit(t, from, 1, 1, true)
	broken := errors.New("no queue")
	_, err := storecopy.Copy(t.Context(), from, to, storecopy.Options{
		Unfinished: func(context.Context, []string) ([]string, error) { return nil, broken },
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the queue", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := storecopy.Copy(ctx, from, to, storecopy.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the request", err)
	}
	if n, err := to.CountSubmissions(t.Context()); err != nil || n != 0 {
		t.Errorf("%d submissions were copied, %v", n, err)
	}
}

func submit(t *testing.T, db store.Quotes, n, key int, want bool) {
	t.Helper()
	sub := storetest.Submission(n)
	sub.IdempotencyKey = fmt.Sprint("key ", key)
	if _, created, err := db.Submit(t.Context(), sub); err != nil || created != want {
		t.Fatalf("submission %d: new %v, %v", n, created, err)
	}
}

func track(t *testing.T, db store.Quotes, n int, later time.Duration) {
	t.Helper()
	if err := db.Track(t.Context(), storetest.Visit(fmt.Sprint("session-", n), storetest.When().Add(later))); err != nil {
		t.Fatal(err)
	}
}

// same compares all that is stored, row by row.
func same(t *testing.T, a, b storecopy.Store) {
	t.Helper()
	all := func(s storecopy.Store) (leads []sqlstore.Lead, sessions []sqlstore.SessionRow) {
		for l, err := range s.Leads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			leads = append(leads, l)
		}
		for r, err := range s.SessionRows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sessions = append(sessions, r)
		}
		return leads, sessions
	}
	leadsA, sessionsA := all(a)
	leadsB, sessionsB := all(b)
	if !reflect.DeepEqual(leadsA, leadsB) {
		t.Errorf("%d leads differ from the %d they were copied from", len(leadsB), len(leadsA))
	}
	if !reflect.DeepEqual(sessionsA, sessionsB) {
		t.Errorf("%d sessions differ from the %d they were copied from", len(sessionsB), len(sessionsA))
	}
	if len(leadsA) == 0 || len(leadsA[0].Keys) == 0 {
		t.Error("there was nothing to compare")
	}
}
