package riverqueue_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/rs/zerolog"

	"siteapi/integrations/delivery"
	"siteapi/integrations/quote"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest/pgserver"
)

// TestBusyFile: submissions that come in as fast as they can and deliveries that are
// worked off meanwhile share one SQLite file without anybody failing.
func TestBusyFile(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 40
	dir := t.TempDir()
	open := func() *sql.DB {
		db, err := sqlite.OpenDB(t.Context(), filepath.Join(dir, "site.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		db.SetMaxOpenConns(1)
		return db
	}
	queuePool := open()
	storePool := queuePool
	var mu sync.Mutex
	sent := map[string]int{}
	o := plainOptions(dir, func(_ context.Context, s *quote.Submission) error {
		mu.Lock()
		defer mu.Unlock()
		sent[s.ID]++
		return nil
	})
	log := new(lockedBuffer)
	o.Log = zerolog.New(log)
	o.Timing.Cooldown = 5 * time.Millisecond
	q := newQueue(t, riversqlite.New(queuePool), o)
	if err := q.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				tx, err := storePool.BeginTx(t.Context(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				if err := q.Enqueue(t.Context(), tx, []string{fmt.Sprintf("lead-%d-%d", w, i)}); err != nil {
					t.Error(err)
				}
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		l, err := q.List(t.Context(), delivery.Filter{Target: delivery.CMS, States: []delivery.State{delivery.Delivered}})
		if err != nil {
			t.Fatal(err)
		}
		if len(l) == writers*each {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d delivered", len(l), writers*each)
		}
	}
	if err := q.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, n := range sent {
		if n != 1 {
			t.Errorf("%s sent %d times", id, n)
		}
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, `"warn"`) || strings.Contains(line, `"error"`) {
			t.Errorf("logged %s", line)
		}
	}
}

// TestFoundAtOnce: with SQLite, what this process enqueues it finds without looking.
func TestFoundAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storePool, queuePool := openSQLite(t, dir), openSQLite(t, dir)
	queuePool.SetMaxOpenConns(1)
	sent := make(chan time.Time, 1)
	o := plainOptions(dir, func(context.Context, *quote.Submission) error { sent <- time.Now(); return nil })
	o.Timing.Poll = time.Hour
	q := newQueue(t, riversqlite.New(queuePool), o)
	if err := q.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // the look at the start is over
	for i := range 5 {
		tx, err := storePool.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Enqueue(t.Context(), tx, []string{fmt.Sprint("lead-", i)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * 20 * time.Millisecond) // what else the transaction does
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-sent:
		case <-time.After(5 * time.Second):
			t.Fatalf("lead %d was not noticed", i)
		}
	}
	if err := q.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDatabaseAway: while PostgreSQL is away a delivery that has just arrived is not
// forgotten, the log stays readable, and afterwards all goes on by itself.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	pool := openPostgres(t, server.NewDatabase(t))
	began, goOn := make(chan string, 10), make(chan struct{})
	o := plainOptions("", func(_ context.Context, s *quote.Submission) error {
		began <- s.ID
		if s.ID == "during" {
			<-goOn
		}
		return nil
	})
	o.LockDir = ""
	log := new(lockedBuffer)
	o.Log = zerolog.New(log)
	q := newQueue(t, riverpgxv5.New(pool), o)
	if err := q.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	enqueue := func(id string) {
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return q.Enqueue(t.Context(), tx, []string{id}) })
		if err != nil {
			t.Fatal(err)
		}
	}
	enqueue("during")
	if id := <-began; id != "during" {
		t.Fatalf("sent %s", id)
	}
	server.Stop(t)
	close(goOn)
	if _, err := q.List(t.Context(), delivery.Filter{}); err == nil {
		t.Error("listing without a database succeeded")
	}
	if _, err := q.Counts(t.Context()); err == nil {
		t.Error("counting without a database succeeded")
	}
	if err := q.Retry(t.Context(), 1); err == nil {
		t.Error("retrying without a database succeeded")
	}
	time.Sleep(2 * time.Second)
	server.Start(t)
	enqueue("after")
	for _, id := range []string{"during", "after"} {
		for deadline := time.Now().Add(20 * time.Second); only(t, q, id).State != delivery.Delivered; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not delivered: %+v", only(t, q, id))
			}
		}
		if d := only(t, q, id); d.Attempts != 1 {
			t.Errorf("%+v", d)
		}
	}
	if err := q.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "\n"); n == 0 || n > 60 {
		t.Errorf("%d lines about two seconds without a database:\n%s", n, log.String())
	}
}

// lockedBuffer is a log that several goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
