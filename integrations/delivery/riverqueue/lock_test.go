package riverqueue_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"siteapi/integrations/delivery"
	"siteapi/integrations/delivery/riverqueue"
	"siteapi/integrations/quote"
	"siteapi/integrations/store/storetest/pgserver"
)

// holdFile locks a file as a living process would.
func holdFile(t *testing.T, path string) (unlock func()) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(path)
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatalf("locking: %v, %v", ok, err)
	}
	return func() {
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestClientIDTaken: two living processes can't bear the same name, and the name is
// free again once its bearer is gone.
func TestClientIDTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool := openSQLite(t, dir)
	pool.SetMaxOpenConns(1)
	o := plainOptions(dir, func(_ context.Context, _ *quote.Submission) error { return nil })
	o.ClientID = "web-1"
	q := newQueue(t, riversqlite.New(pool), o)
	if err := q.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	unlock := holdFile(t, filepath.Join(dir, "run", "web-1.lock"))
	if err := q.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "web-1") {
		t.Fatalf("starting under a name that is taken: %v", err)
	}
	unlock()
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := q.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "run", "web-1.lock")); !os.IsNotExist(err) {
		t.Errorf("the lock file is left: %v", err)
	}
}

// TestWhoIsDead: of the tries under way, those of dead processes are repeated and
// those of living ones left alone, at the start and later.
func TestWhoIsDead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool := openSQLite(t, dir)
	pool.SetMaxOpenConns(1)
	driver := riversqlite.New(pool)
	o := plainOptions(dir, func(_ context.Context, _ *quote.Submission) error { return nil })
	o.ClientID = "me"
	o.Timing.Upkeep, o.Timing.Tick = 20*time.Millisecond, 20*time.Millisecond
	q := newQueue(t, driver, o)
	if err := q.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec := driver.GetExecutor()
	running := func(id, owner, since string) {
		t.Helper()
		tx, err := pool.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Enqueue(t.Context(), tx, []string{id}); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		err = exec.Exec(t.Context(), "UPDATE river_job SET state = 'running', attempt = 1, attempted_at = datetime('now', ?3, 'subsec'),"+
			" attempted_by = jsonb_array('someone', ?1) WHERE queue = 'cms' AND args->>'submission' = ?2", owner, id, since)
		if err != nil {
			t.Fatal(err)
		}
	}
	file := func(owner string) string { return filepath.Join(dir, "run", owner+".lock") }
	dead := holdFile(t, file("dead"))
	dead()
	alive := holdFile(t, file("alive"))
	dies := holdFile(t, file("dies later"))
	for id, owner := range map[string]string{"a": "dead", "b": "alive", "c": "dies later", "d": "no file", "e": "me"} {
		running(id, owner, "-0 seconds")
	}
	// However long it takes: a living process ends its own tries.
	running("f", "alive", "-1 hours")
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait := func(id string, want delivery.State) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); only(t, q, id).State != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v, want %s", id, only(t, q, id), want)
			}
		}
	}
	for _, id := range []string{"a", "d", "e"} {
		wait(id, delivery.Delivered)
	}
	time.Sleep(200 * time.Millisecond)
	wait("b", delivery.Running)
	wait("c", delivery.Running)
	wait("f", delivery.Running)
	// Marked as ours while we run, but never begun: the answer got lost.
	running("g", "me", "-1 hours")
	wait("g", delivery.Delivered)
	running("h", "me", "-0 seconds")
	time.Sleep(100 * time.Millisecond)
	wait("h", delivery.Running)
	dies()
	wait("c", delivery.Delivered)
	wait("b", delivery.Running)
	if _, err := os.Stat(file("dead")); !os.IsNotExist(err) {
		t.Errorf("a dead process's lock file is left: %v", err)
	}
	if _, err := os.Stat(file("alive")); err != nil {
		t.Errorf("a living process's lock file: %v", err)
	}
	if err := q.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	alive()
}

// TestOtherMachines: of processes that have no lock here only the age of a try tells.
func TestOtherMachines(t *testing.T) {
	t.Parallel()
	url := pgserver.Start(t).NewDatabase(t)
	forever := make(chan struct{})
	defer close(forever)
	var tries atomic.Int64
	send := func(context.Context, *quote.Submission) error {
		if tries.Add(1) == 1 {
			<-forever
		}
		return nil
	}
	open := func(timing riverqueue.Timing) *riverqueue.Queue[pgx.Tx] {
		o := plainOptions("", send)
		o.LockDir, o.Timing = "", timing
		return newQueue(t, riverpgxv5.New(openPostgres(t, url)), o)
	}
	a := open(riverqueue.Timing{SendTimeout: time.Hour, RescueAfter: 2 * time.Hour, Grace: 10 * time.Millisecond})
	if err := a.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	pool := openPostgres(t, url)
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return a.Enqueue(t.Context(), tx, []string{"stuck"}) })
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait := func(want delivery.State) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); only(t, a, "stuck").State != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%+v, want %s", only(t, a, "stuck"), want)
			}
		}
	}
	wait(delivery.Running)
	// The second believes that no try takes longer than half a second.
	b := open(riverqueue.Timing{SendTimeout: 100 * time.Millisecond, Grace: 100 * time.Millisecond, RateWait: 100 * time.Millisecond,
		RescueAfter: 500 * time.Millisecond, Tick: 20 * time.Millisecond, Upkeep: 50 * time.Millisecond})
	began := time.Now()
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(delivery.Delivered)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := errors.Join(a.Stop(ended), b.Stop(t.Context())); err != nil {
		t.Error(err)
	}
	// The late end of the first try changes nothing.
	if d := only(t, a, "stuck"); d.State != delivery.Delivered || len(d.Errors) != 1 {
		t.Errorf("%+v", d)
	}
}
