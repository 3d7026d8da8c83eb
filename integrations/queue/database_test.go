package queue_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest/pgserver"
)

// onBothDatabases runs a test on both databases, each of them empty.
func onBothDatabases(t *testing.T, run func(t *testing.T, db database)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		run(t, onSQLite(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		run(t, onPostgres(t))
	})
}

// TestMain runs more tests in parallel than there are processors, because most of them
// wait.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	m.Run()
}

// database opens the store and the queue, as each of several processes would, until the
// end of the test.
type database func(t *testing.T, o setup) *subject

// setup holds the options of a queue and the handlers of its targets.
type setup struct {
	queue.Options
	send map[lead.Target]queue.Send
}

// subject is a queue with its store.
type subject struct {
	*queue.Queue
	send map[lead.Target]queue.Send
	file *sql.DB // of SQLite
}

// allow sets the number of attempts after which the deliveries on SQLite fail.
func (s *subject) allow(t *testing.T, attempts int) {
	t.Helper()
	_, err := s.file.ExecContext(t.Context(), `UPDATE deliveries SET max_attempts = ?`, attempts)
	must(t, err)
}

// onSQLite returns an empty SQLite database.
func onSQLite(t *testing.T) database {
	t.Helper()
	path := filepath.Join(t.TempDir(), "site.db")
	return func(t *testing.T, o setup) *subject {
		t.Helper()
		pool, err := sqlite.OpenDB(t.Context(), path)
		must(t, err)
		q := open(t, riversqlite.New(pool), o, func(jobs store.Queue[*sql.Tx]) (*store.Store, error) {
			db, err := sqlite.New(path, pool, jobs)
			must(t, err)
			t.Cleanup(func() { must(t, db.Close()) })
			return store.New(db), db.Connect(t.Context(), slog.New(slog.DiscardHandler))
		})

		q.file = pool
		return q
	}
}

// onPostgres returns an empty PostgreSQL database.
func onPostgres(t *testing.T) database {
	t.Helper()
	url := pgserver.Start(t).NewDatabase(t)
	return func(t *testing.T, o setup) *subject {
		t.Helper()
		pool, err := postgres.NewPool(t.Context(), url+"&pool_max_conns=4")
		must(t, err)
		t.Cleanup(pool.Close)

		return open(t, riverpgxv5.New(pool), o, func(jobs store.Queue[pgx.Tx]) (*store.Store, error) {
			db := postgres.New(pool, jobs)
			return store.New(db), db.Connect(t.Context(), slog.New(slog.DiscardHandler))
		})
	}
}

// open sets up a queue over River's driver.
func open[D riverdriver.Driver[TX], TX any](
	t *testing.T, driver D, o setup, newStore func(store.Queue[TX]) (*store.Store, error),
) *subject {
	t.Helper()
	must(t, queue.Migrate(t.Context(), driver, o.Log))
	if o.Observe == nil {
		o.Observe = func(lead.Target, queue.Outcome) {}
	}

	q, err := queue.New(driver, o.Options, newStore)
	must(t, err)
	return &subject{Queue: q, send: o.send}
}

// options returns the options of a queue that delivers only to the CMS, with waits of up
// to 50 ms.
func options(send queue.Send) setup {
	o := setup{Options: queue.Options{RetryMax: 50 * time.Millisecond}}
	o.deliver(send, queue.TargetConfig{Name: lead.CMS, MaxWorkers: 4})
	return o
}

// deliver adds a target.
func (o *setup) deliver(send queue.Send, c queue.TargetConfig) {
	if o.send == nil {
		o.send = map[lead.Target]queue.Send{}
	}
	o.Targets = append(o.Targets, c)
	o.send[c.Name] = send
}

// newLead returns a lead with an id and a consent.
func newLead(id string) store.NewLead {
	return store.NewLead{ContentKey: id, Lead: lead.Lead{
		ID:          id,
		Contact:     lead.Contact{Email: id + "@example.org"},
		Consents:    []lead.Consent{{Purpose: "news", Given: true}},
		SubmittedAt: time.Now().UTC().Truncate(time.Millisecond),
	}}
}

// add submits leads.
func (s *subject) add(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if _, created, err := s.Store.Submit(t.Context(), newLead(id)); err != nil || !created {
			t.Fatal(created, err)
		}
	}
}

func (s *subject) start(t *testing.T) {
	t.Helper()
	must(t, s.Start(t.Context(), queue.Handlers{Send: s.send}))
	t.Cleanup(func() { s.stop(t, time.Minute) })
}

func (s *subject) stop(t *testing.T, timeout time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// delivery returns the only delivery of a lead to a target.
func (s *subject) delivery(t *testing.T, id string, target lead.Target) lead.Delivery {
	t.Helper()
	list, err := s.Store.ListDeliveries(context.WithoutCancel(t.Context()), store.DeliveryFilter{
		Leads:  []string{id},
		Target: target,
	})
	if err != nil || len(list) != 1 {
		t.Fatalf("deliveries of %s: %+v, %v", id, list, err)
	}
	return list[0]
}

// waitFor waits until the delivery to the CMS has a state.
func (s *subject) waitFor(t *testing.T, id string, want lead.DeliveryState) lead.Delivery {
	t.Helper()
	return s.waitForTarget(t, id, lead.CMS, want)
}

func (s *subject) waitForTarget(t *testing.T, id string, target lead.Target, want lead.DeliveryState) lead.Delivery {
	t.Helper()
	var d lead.Delivery
	eventually(t, id+" is "+string(want), func() bool { d = s.delivery(t, id, target); return d.State == want })
	return d
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(100 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// fake is a target with scripted outcomes that records its calls.
type fake struct {
	mu       sync.Mutex
	fault    func(ctx context.Context, id string, call int) error
	calls    map[string]int
	times    []time.Time // of all calls
	accepted int
}

func newFake(fault func(ctx context.Context, id string, call int) error) *fake {
	return &fake{fault: fault, calls: map[string]int{}}
}

func (f *fake) send(ctx context.Context, s *queue.Try) error {
	f.mu.Lock()
	f.calls[s.ID]++
	f.times = append(f.times, time.Now())
	call, fault := f.calls[s.ID], f.fault
	f.mu.Unlock()

	err := fault(ctx, s.ID, call)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.accepted++
	}
	return err
}

func (f *fake) recover() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = accept
}

func (f *fake) count(id string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[id]
}

func (f *fake) total() (calls, accepted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.times), f.accepted
}

// accept is the outcome of a target without faults.
func accept(context.Context, string, int) error { return nil }

func ids(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("lead-%03d", i))
	}
	return list
}
