package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

// patience is more than any request may take while the database is away.
const patience = postgres.AcquireTimeout + postgres.OperationTimeout + time.Second

// withJobs makes hooks that keep a table of jobs in the subject's database.
func withJobs(t *testing.T, s storetest.Subject) storetest.Hooks {
	t.Helper()
	s.Exec(t, `CREATE TABLE jobs (submission_id text NOT NULL)`)
	return storetest.Hooks{Enqueue: func(_ context.Context, exec storetest.Exec, ids []string) error {
		for _, id := range ids {
			if err := exec(`INSERT INTO jobs VALUES ('` + id + `')`); err != nil {
				return err
			}
		}
		return nil
	}}
}

// The server is stopped and started, then killed and started, under one open store.
func TestOutage(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	s := subject(server.NewDatabase(t))
	db := s.MustOpen(t, withJobs(t, s))
	n := 0
	submit := func() error {
		sub := storetest.Submission(n)
		sub.IdempotencyKey = sub.ContentKey
		_, created, err := db.Submit(t.Context(), sub)
		if err == nil && !created {
			t.Errorf("submission %d was stored although it was refused", n)
		}
		if err == nil {
			n++
		}
		return err
	}
	for name, stop := range map[string]func(testing.TB){"stopped": server.Stop, "killed": server.Kill} {
		if err := submit(); err != nil {
			t.Fatalf("before the server is %s: %v", name, err)
		}
		stop(t)
		for what, try := range map[string]func() error{
			"submit": submit,
			"track":  func() error { return db.Track(t.Context(), storetest.Visit("s", storetest.When())) },
			"ping":   func() error { return db.Ping(t.Context()) },
			"read":   func() error { _, err := db.Submission(t.Context(), "id-000000"); return err },
			"count":  func() error { _, err := db.CountSubmissions(t.Context()); return err },
			"prune":  func() error { _, err := db.PruneSessions(t.Context(), time.Now()); return err },
			"erase":  func() error { return db.Erase(t.Context(), "id-000000") },
			"list": func() (last error) {
				for _, err := range db.Submissions(t.Context(), store.Filter{}) {
					last = err
				}
				return last
			},
		} {
			wantUnavailable(t, name+": "+what, try)
		}
		server.Start(t)
		if err := submit(); err != nil {
			t.Errorf("after the server was %s: %v", name, err)
		}
		if err := db.Track(t.Context(), storetest.Visit("s", storetest.When())); err != nil {
			t.Errorf("after the server was %s: %v", name, err)
		}
	}
	for _, query := range []string{`SELECT id FROM submissions`, `SELECT submission_id FROM jobs`, `SELECT key FROM submission_keys`} {
		if got := len(s.Strings(t, query)); got != n {
			t.Errorf("%s: %d rows, want %d", query, got, n)
		}
	}
}

// What was acknowledged under load survives the server's crash, with its job.
func TestCrashUnderLoad(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	s := subject(server.NewDatabase(t))
	db := s.MustOpen(t, withJobs(t, s))
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for c := range 8 {
		wg.Go(func() {
			for i := c; ctx.Err() == nil; i += 8 {
				sub := storetest.Submission(i)
				_, _, err := db.Submit(t.Context(), sub)
				if err != nil && !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("submission %d: %v", i, err)
				}
				if err == nil {
					mu.Lock()
					acknowledged[sub.Submission.ID] = true
					mu.Unlock()
				}
			}
		})
	}
	for range 2 {
		time.Sleep(300 * time.Millisecond)
		server.Kill(t)
		server.Start(t)
	}
	time.Sleep(300 * time.Millisecond)
	cancel()
	wg.Wait()
	stored := s.Strings(t, `SELECT id FROM submissions ORDER BY id`)
	for _, id := range stored {
		delete(acknowledged, id)
	}
	if len(acknowledged) != 0 {
		t.Errorf("acknowledged and lost: %v", acknowledged)
	}
	if jobs := s.Strings(t, `SELECT submission_id FROM jobs ORDER BY submission_id`); strings.Join(jobs, " ") != strings.Join(stored, " ") {
		t.Errorf("%d submissions with %d jobs", len(stored), len(jobs))
	}
	t.Logf("%d submissions through two crashes", len(stored))
}

// A store does not start on a database that is away, and says so in time.
func TestStartWhileAway(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	server := pgserver.Start(t)
	for name, c := range map[string]struct {
		url         string
		unavailable bool
		within      time.Duration
	}{
		"nobody listens":   {"postgres://siteapi:secret@" + closed.Addr().String() + "/x", true, postgres.StartTimeout + 2*time.Second},
		"nobody answers":   {"postgres://siteapi:secret@" + silent.Addr().String() + "/x", true, postgres.StartTimeout + 2*time.Second},
		"unknown database": {server.URL("nothing"), false, 3 * time.Second},
		"not a URL":        {"postgres://siteapi:secret@host:port/x", false, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			_, err := postgres.Open(context.Background(), postgres.Options{URL: c.url})
			if err == nil || errors.Is(err, store.ErrUnavailable) != c.unavailable {
				t.Errorf("got %v; ErrUnavailable wanted: %v", err, c.unavailable)
			}
			if took := time.Since(begin); took > c.within {
				t.Errorf("it took %v, want at most %v", took, c.within)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is in the message: %v", err)
			}
		})
	}
}

// Trouble with a server that is up.
func TestTrouble(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	for name, test := range map[string]func(*testing.T, string){
		"connections cut":       connectionsCut,
		"read-only":             readOnly,
		"table locked":          tableLocked,
		"no connection free":    noConnectionFree,
		"serializable":          serializable,
		"lost answer of commit": lostAnswer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server.NewDatabase(t))
		})
	}
}

func connectionsCut(t *testing.T, at string) {
	s := subject(at)
	db := s.MustOpen(t, withJobs(t, s))
	for i := range 10 {
		s.Strings(t, `SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
			WHERE pid <> pg_backend_pid() AND datname = current_database()`)
		if _, created, err := db.Submit(t.Context(), storetest.Submission(i)); err != nil || !created {
			t.Errorf("submission %d after a cut: new %v, %v", i, created, err)
		}
	}
}

// A primary that has become a standby refuses writes until it is promoted again.
func readOnly(t *testing.T, at string) {
	s := subject(at)
	name := s.Strings(t, `SELECT current_database()::text`)[0]
	readOnly, err := postgres.Open(t.Context(), postgres.Options{URL: at})
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	cut := `SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`
	s.Exec(t, `ALTER DATABASE `+name+` SET default_transaction_read_only = on`)
	s.Strings(t, cut)
	wantUnavailable(t, "submit", func() error { _, _, err := readOnly.Submit(t.Context(), storetest.Submission(1)); return err })
	wantUnavailable(t, "ping", func() error { return readOnly.Ping(t.Context()) })
	subject(at+"&default_transaction_read_only=off").Exec(t, `ALTER DATABASE `+name+` RESET default_transaction_read_only`)
	s.Strings(t, cut)
	if _, _, err := readOnly.Submit(t.Context(), storetest.Submission(1)); err != nil {
		t.Errorf("after it can write again: %v", err)
	}
}

// What was refused because of a lock is not stored after the lock has gone either.
func tableLocked(t *testing.T, at string) {
	s := subject(at)
	db := s.MustOpen(t, storetest.Hooks{})
	unlock := lock(t, at)
	var wg sync.WaitGroup
	wg.Go(func() {
		wantUnavailable(t, "submit", func() error { _, _, err := db.Submit(t.Context(), storetest.Submission(1)); return err })
	})
	wg.Go(func() {
		wantUnavailable(t, "track", func() error { return db.Track(t.Context(), storetest.Visit("s", storetest.When())) })
	})
	wg.Wait()
	unlock()
	time.Sleep(200 * time.Millisecond)
	if got := s.Strings(t, `SELECT id FROM submissions UNION ALL SELECT id FROM sessions`); len(got) != 0 {
		t.Errorf("stored after all: %q", got)
	}
	if _, _, err := db.Submit(t.Context(), storetest.Submission(1)); err != nil {
		t.Errorf("after the lock is gone: %v", err)
	}
}

func noConnectionFree(t *testing.T, at string) {
	db := subject(at+"&pool_max_conns=2").MustOpen(t, storetest.Hooks{})
	defer lock(t, at)()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			wantUnavailable(t, "submit", func() error { _, _, err := db.Submit(t.Context(), storetest.Submission(i)); return err })
		})
	}
	wg.Wait()
}

// An operator may ask for the strictest isolation: conflicts are tried again.
func serializable(t *testing.T, at string) {
	s := subject(at + "&default_transaction_isolation=serializable")
	db := s.MustOpen(t, withJobs(t, s))
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for round := range 5 {
				sub := storetest.Submission(100*round + i)
				sub.ContentKey = fmt.Sprint("round ", round)
				if _, _, err := db.Submit(t.Context(), sub); err != nil && !errors.Is(err, store.ErrUnavailable) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if jobs := s.Strings(t, `SELECT submission_id FROM jobs`); len(jobs) != 5 {
		t.Errorf("%d jobs, want 5", len(jobs))
	}
}

// The connection breaks after the commit was sent, before its answer came: the second
// try finds the submission, and it is still the visitor's new one.
func lostAnswer(t *testing.T, at string) {
	s := subject(at)
	h := withJobs(t, s)
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	p := startProxy(t, u.Host)
	u.Host = p.address()
	db := subject(u.String()).MustOpen(t, h)
	for i, key := range []string{"", "key"} {
		p.cutAfter("commit")
		sub := storetest.Submission(i)
		sub.IdempotencyKey = key
		got, created, err := db.Submit(t.Context(), sub)
		if err != nil || !created || got.ID != sub.Submission.ID {
			t.Errorf("submission %d: %q, new %v, %v", i, got.ID, created, err)
		}
		if !p.hasCut() {
			t.Error("the connection was not cut")
		}
		if jobs := s.Strings(t, `SELECT submission_id FROM jobs`); len(jobs) != i+1 {
			t.Errorf("%d jobs, want %d", len(jobs), i+1)
		}
	}
	p.cutAfter("commit")
	if err := db.Erase(t.Context(), "id-000000"); err != nil || !p.hasCut() {
		t.Errorf("erasing, cut %v: %v", p.hasCut(), err)
	}
}

func wantUnavailable(t *testing.T, what string, try func() error) {
	t.Helper()
	begin := time.Now()
	if err := try(); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%s: got %v, want ErrUnavailable", what, err)
	}
	if took := time.Since(begin); took > patience {
		t.Errorf("%s: it took %v, want at most %v", what, took, patience)
	}
}
