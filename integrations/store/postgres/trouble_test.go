package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

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
		"no deadlocks":          noDeadlocks,
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
	begin := time.Now()
	var wg sync.WaitGroup
	wg.Go(func() {
		wantUnavailable(t, "submit", func() error { _, _, err := db.Submit(t.Context(), storetest.Submission(1)); return err })
	})
	wg.Go(func() {
		wantUnavailable(t, "track", func() error { return db.Track(t.Context(), storetest.Visit("s", storetest.When())) })
	})
	wg.Wait()
	if took := time.Since(begin); took >= postgres.OperationTimeout {
		t.Errorf("it took %v: we gave up before the server did", took)
	}
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
	const clients, rounds = 3, 10
	var refused atomic.Int64
	for round := range rounds {
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				sub := storetest.Submission(100*round + i)
				sub.ContentKey = fmt.Sprint("round ", round)
				_, _, err := db.Submit(t.Context(), sub)
				if err != nil && !errors.Is(err, store.ErrUnavailable) {
					t.Error(err)
				}
				if err != nil {
					refused.Add(1)
				}
			})
		}
		wg.Wait()
	}
	if jobs := s.Strings(t, `SELECT submission_id FROM jobs`); len(jobs) != rounds {
		t.Errorf("%d jobs, want %d", len(jobs), rounds)
	}
	if refused.Load() > clients*rounds/10 {
		t.Errorf("%d of %d were refused", refused.Load(), clients*rounds)
	}
}

// Instances that update the same sessions never wait for each other in a circle. One
// row is held for a while, so that their statements pile up behind it.
func noDeadlocks(t *testing.T, at string) {
	s := subject(at)
	var wg sync.WaitGroup
	for instance := range 4 {
		db := s.MustOpen(t, storetest.Hooks{})
		if instance == 0 {
			if err := db.Track(t.Context(), storetest.Visit("s10", storetest.When())); err != nil {
				t.Fatal(err)
			}
			c, err := pgx.Connect(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Exec(t.Context(), `BEGIN; UPDATE sessions SET visits = 1 WHERE id = 's10'`); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(500*time.Millisecond, func() { c.Close(context.Background()) })
		}
		for c := range 60 {
			wg.Go(func() {
				if err := db.Track(t.Context(), storetest.Visit(fmt.Sprint("s", c%20), storetest.When())); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	time.Sleep(1500 * time.Millisecond) // the server's counts lag behind by up to a second
	if got := s.Strings(t, `SELECT deadlocks::text FROM pg_stat_database WHERE datname = current_database()`); got[0] != "0" {
		t.Errorf("%s deadlocks", got[0])
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
		p.cutAfter("commit", 1)
		sub := storetest.Submission(i)
		sub.IdempotencyKey = key
		got, created, err := db.Submit(t.Context(), sub)
		if err != nil || !created || got.ID != sub.Submission.ID {
			t.Errorf("submission %d: %q, new %v, %v", i, got.ID, created, err)
		}
		if p.left() != 0 {
			t.Error("the connection was not cut")
		}
		if jobs := s.Strings(t, `SELECT submission_id FROM jobs`); len(jobs) != i+1 {
			t.Errorf("%d jobs, want %d", len(jobs), i+1)
		}
	}
	p.cutAfter("commit", 1)
	if err := db.Erase(t.Context(), "id-000000"); err != nil || p.left() != 0 {
		t.Errorf("erasing, %d cuts left: %v", p.left(), err)
	}

	// Where no answer ever comes the request is refused although it is stored. Sent
	// again it finds what is there.
	const many = 100
	sub := storetest.Submission(7)
	sub.IdempotencyKey = "key 7"
	p.cutAfter("commit", many)
	if _, _, err := db.Submit(t.Context(), sub); !errors.Is(err, store.ErrUnavailable) || p.left() == many {
		t.Errorf("without an answer: %v, %d cuts left, want ErrUnavailable", err, p.left())
	}
	p.cutAfter("", 0)
	again := sub
	again.Submission.ID = "another"
	if got, created, err := db.Submit(t.Context(), again); err != nil || created || got.ID != sub.Submission.ID {
		t.Errorf("sent again: %q, new %v, %v, want the first", got.ID, created, err)
	}
	if jobs := s.Strings(t, `SELECT submission_id FROM jobs WHERE submission_id LIKE '%7'`); len(jobs) != 1 {
		t.Errorf("%d jobs, want 1", len(jobs))
	}
}
