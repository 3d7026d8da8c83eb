package queue_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"
	"github.com/rs/zerolog"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest/pgserver"
)

// onBoth runs a test on both databases, each time on an empty one.
func onBoth(t *testing.T, run func(t *testing.T, db database)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		run(t, sqliteDatabase(t, filepath.Join(t.TempDir(), "site.db")))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		run(t, postgresDatabase(t, server(t).NewDatabase(t)))
	})
}

// one is the PostgreSQL server of all tests.
var one struct {
	sync.Once
	*pgserver.Server
}

func server(t *testing.T) *pgserver.Server {
	one.Do(func() {
		s, err := pgserver.New()
		if err == nil {
			err = s.Up()
		}
		if err != nil {
			t.Log(err)
			return
		}
		one.Server = s
	})

	if one.Server == nil {
		return pgserver.Start(t) // It skips the test or fails, as it should.
	}
	return one.Server
}

// database opens queues as several processes would.
type database func(t *testing.T, o queue.Options) *subject

// subject is a queue with the hooks that a store calls in transactions of its own.
type subject struct {
	*queue.Queue
	enqueue func(commit bool, ids ...string) error
	records *records

	migrate func(ctx context.Context) error

	// addUnrecorded creates a delivery to the CMS as earlier releases did.
	addUnrecorded func(id string)

	// addChange inserts a job that tells a receiver of a change at a time, and changes
	// counts those that are not done.
	addChange func(receiver string, keys []string, at time.Time)
	changes   func(receiver string) int
}

func sqliteDatabase(t *testing.T, path string) database {
	known := &recorded{}
	db := func(t *testing.T, o queue.Options) *subject {
		pool, err := sqlite.OpenDB(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		t.Cleanup(func() { _ = pool.Close() })

		return newSubject(t, riversqlite.New(pool), o, known, func(commit bool, f func(tx *sql.Tx) error) error {
			tx, err := pool.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			if err := f(tx); err != nil || !commit {
				_ = tx.Rollback()
				return err
			}
			return tx.Commit()
		})
	}
	migrated(t, db)
	return db
}

func postgresDatabase(t *testing.T, url string) database {
	known := &recorded{}
	db := func(t *testing.T, o queue.Options) *subject {
		pool, err := pgxpool.New(t.Context(), url+"&pool_max_conns=4")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)

		return newSubject(t, riverpgxv5.New(pool), o, known, func(commit bool, f func(tx pgx.Tx) error) error {
			tx, err := pool.Begin(t.Context())
			if err != nil {
				return err
			}
			if err := f(tx); err != nil || !commit {
				_ = tx.Rollback(t.Context())
				return err
			}
			return tx.Commit(t.Context())
		})
	}
	migrated(t, db)
	return db
}

// migrated creates the tables, with several processes at once.
func migrated(t *testing.T, db database) {
	t.Helper()
	var group sync.WaitGroup
	for range 3 {
		q := db(t, options(nil))
		group.Go(func() {
			if err := q.migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}

	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func newSubject[TTx any](
	t *testing.T,
	driver riverdriver.Driver[TTx],
	o queue.Options,
	known *recorded,
	inTx func(commit bool, f func(tx TTx) error) error,
) *subject {
	t.Helper()
	if testing.Verbose() {
		o.Log = zerolog.New(zerolog.NewTestWriter(t))
	}

	records := &records{recorded: known}
	o.Records, o.Leases = records, known
	q, hooks, err := queue.New(driver, o)
	if err != nil {
		t.Fatal(err)
	}

	records.inTx = func(f func(in store.Deliveries) error) error {
		return inTx(true, func(tx TTx) error { return f(hooks(tx)) })
	}

	ctx := context.WithoutCancel(t.Context())
	return &subject{
		Queue:   q,
		records: records,
		enqueue: func(commit bool, ids ...string) error {
			return inTx(commit, func(tx TTx) error {
				made, err := hooks(tx).Enqueue(ctx, ids)
				for _, d := range made {
					if commit {
						records.set(d)
					}
				}
				return err
			})
		},
		migrate: func(ctx context.Context) error { return queue.Migrate(ctx, driver, o.Log) },
		addUnrecorded: func(id string) {
			client, err := river.NewClient(driver, &river.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Insert(ctx, unrecorded{id},
				&river.InsertOpts{Queue: string(queue.CMS)}); err != nil {
				t.Fatal(err)
			}
		},
		addChange: func(receiver string, keys []string, at time.Time) {
			client, err := river.NewClient(driver, &river.Config{})
			if err == nil {
				_, err = client.Insert(ctx, change{keys, at}, &river.InsertOpts{Queue: receiver})
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		changes: func(receiver string) int {
			client, err := river.NewClient(driver, &river.Config{})
			if err != nil {
				t.Fatal(err)
			}
			found, err := client.JobList(ctx, river.NewJobListParams().Queues(receiver).First(1000))
			if err != nil {
				t.Fatal(err)
			}
			return len(slices.DeleteFunc(found.Jobs, func(j *rivertype.JobRow) bool { return j.FinalizedAt != nil }))
		},
	}
}

// records stands for the store, whose tables these tests do without.
type records struct {
	store.DeliveryRecords
	*recorded
	inTx func(f func(in store.Deliveries) error) error
}

// recorded is what the queues on a database share.
type recorded struct {
	store.Leases
	mu     sync.Mutex
	list   []store.Delivery
	leases map[string]time.Time // ends of leases by their names
	full   error                // of imports, if the disk is full
}

// TakeLease takes a lease that has ended.
func (r *recorded) TakeLease(_ context.Context, l store.Lease, life time.Duration) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.leases[l.Name]) {
		return false, nil
	}
	if r.leases == nil {
		r.leases = map[string]time.Time{}
	}
	r.leases[l.Name] = time.Now().Add(life)
	return true, nil
}

// all returns what is recorded at this moment.
func (r *recorded) all() []store.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

func (r *records) set(d store.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(o store.Delivery) bool { return o.LeadID == d.LeadID && o.Target == d.Target })
	switch {
	case i >= 0 && d.ID == 0:
		r.list[i].Progress = d.Progress
	case i >= 0:
		r.list[i] = d
	case d.ID != 0:
		r.list = append(r.list, d)
	}
}

func (r *records) ChangeDelivery(
	ctx context.Context, change func(context.Context, store.Deliveries) (store.Delivery, error),
) error {
	return r.inTx(func(in store.Deliveries) error {
		d, err := change(ctx, in)
		if err == nil {
			r.set(d)
		}
		return err
	})
}

func (r *records) SaveDelivery(_ context.Context, d store.Delivery) error {
	d.ID = 0
	r.set(d)
	return nil
}

func (r *records) ImportDeliveries(_ context.Context, list []store.Delivery) error {
	if r.full != nil {
		return r.full
	}
	for _, d := range list {
		r.set(d)
	}
	return nil
}

func (r *records) LastImported(context.Context) (int64, error) { return 0, nil }

func (r *records) RecordedDeliveries(_ context.Context, f store.DeliveryFilter) ([]store.Delivery, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.list), func(d store.Delivery) bool {
		return len(f.Leads) > 0 && !slices.Contains(f.Leads, d.LeadID) ||
			f.Unended && d.Progress == lead.Ended || d.ID <= f.After
	}), nil
}

func (r *records) CountDeliveries(context.Context) (counts []store.DeliveryCount, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.list {
		i := slices.IndexFunc(counts, func(n store.DeliveryCount) bool {
			return n.Target == d.Target && n.Progress == d.Progress
		})
		if i < 0 {
			i, counts = len(counts), append(counts, store.DeliveryCount{Target: d.Target, Progress: d.Progress})
		}
		counts[i].Number++
	}
	return counts, nil
}

// remove removes the deliveries of leads as their erasure does.
func (r *records) remove(t *testing.T, ids ...string) (removed, running int) {
	t.Helper()
	list, _ := r.RecordedDeliveries(t.Context(), store.DeliveryFilter{Leads: ids})
	err := r.inTx(func(in store.Deliveries) (err error) {
		removed, running, err = in.Remove(t.Context(), list)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return removed, running
}

// unrecorded is a delivery as earlier releases inserted it.
type unrecorded struct {
	Lead string `json:"submission"`
}

func (unrecorded) Kind() string { return "delivery" }

// change is a job as the queue inserts it.
type change struct {
	Keys []string  `json:"keys"`
	At   time.Time `json:"at"`
}

func (change) Kind() string { return "content_changed" }

// options returns a queue's options that deliver to the CMS only, with pauses of up to a
// twentieth of a second.
func options(send queue.Send) queue.Options {
	return queue.Options{
		Load: func(_ context.Context, id string) (lead.Lead, error) {
			return lead.Lead{ID: id, Contact: lead.Contact{Email: id + "@example.org"}}, nil
		},
		Translate: sqlite.Translate,
		Targets: []queue.TargetConfig{{
			Name:        queue.CMS,
			Send:        send,
			MaxAttempts: 1000,
			MaxWorkers:  4,
		}},
		RetryMax: 50 * time.Millisecond,
		Log:      zerolog.Nop(),
	}
}

func (s *subject) add(t *testing.T, ids ...string) {
	t.Helper()
	if err := s.enqueue(true, ids...); err != nil {
		t.Fatal(err)
	}
}

func (s *subject) start(t *testing.T) {
	t.Helper()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop(t, time.Minute) })
}

func (s *subject) stop(t *testing.T, patience time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// the returns the one delivery of a lead to the CMS.
func (s *subject) the(t *testing.T, id string) queue.Delivery {
	t.Helper()
	list, err := s.List(context.WithoutCancel(t.Context()), queue.Filter{
		Leads:  []string{id},
		Target: queue.CMS,
	})
	if err != nil || len(list) != 1 {
		t.Fatalf("deliveries of %s: %+v, %v", id, list, err)
	}
	return list[0]
}

func (s *subject) becomes(t *testing.T, id string, want queue.State) queue.Delivery {
	t.Helper()
	var d queue.Delivery
	eventually(t, id+" is "+string(want), func() bool { d = s.the(t, id); return d.State == want })
	return d
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(100 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen: %s", what)
		}
	}
}

// fake is a target with scripted outcomes that records its calls.
type fake struct {
	mu    sync.Mutex
	fault func(ctx context.Context, id string, call int) error
	calls map[string]int
	taken map[string]int
	times []time.Time
}

func newFake(fault func(ctx context.Context, id string, call int) error) *fake {
	return &fake{fault: fault, calls: map[string]int{}, taken: map[string]int{}}
}

func (f *fake) send(ctx context.Context, s *queue.Try) error {
	f.mu.Lock()
	f.calls[s.ID]++
	f.times = append(f.times, time.Now())
	call, fault := f.calls[s.ID], f.fault
	f.mu.Unlock()

	if fault != nil {
		if err := fault(ctx, s.ID, call); err != nil {
			return err
		}
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken[s.ID]++
	return nil
}

func (f *fake) become(fault func(ctx context.Context, id string, call int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

func (f *fake) count(id string) (calls, taken int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[id], f.taken[id]
}

func (f *fake) total() (calls, taken int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.taken {
		taken += n
	}
	return len(f.times), taken
}

func ids(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("lead-%03d", i))
	}
	return list
}
