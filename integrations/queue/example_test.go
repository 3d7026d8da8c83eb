package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/riverqueue/river/riverdriver/riversqlite"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
)

// A lead and its deliveries are stored in one transaction, and delivered once the queue
// runs. The same content again is a repetition, and delivers nothing.
func ExampleQueue() {
	ctx := context.Background()
	delivered := make(chan string, 2)
	toCRM := func(_ context.Context, t *queue.Try) error {
		delivered <- t.Contact.FirstName
		return nil
	}
	tables, jobs, closeAll := open(ctx)
	defer closeAll()

	for range 2 {
		_, created, err := tables.Submit(ctx, store.NewLead{
			Lead:       lead.Lead{ID: "f81d4fae-7dec-41d0", Contact: lead.Contact{FirstName: "Ana"}},
			ContentKey: "a digest of session and content",
		})
		fmt.Println(created, err)
	}

	if err := jobs.Start(ctx, queue.Handlers{Send: map[lead.Target]queue.Send{lead.CRM: toCRM}}); err != nil {
		panic(err)
	}
	fmt.Println(<-delivered, "reached the CRM")
	fmt.Println(jobs.Stop(ctx))

	// Output:
	// true <nil>
	// false <nil>
	// Ana reached the CRM
	// <nil>
}

// open opens a store on SQLite, and a queue that delivers its leads to the CRM.
func open(ctx context.Context) (store.Quotes, *queue.Queue, func()) {
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		panic(err)
	}
	path := filepath.Join(dir, "site.db")

	pool, err := sqlite.OpenDB(ctx, path)
	if err != nil {
		panic(err)
	}
	o := queue.Options{Targets: []queue.TargetConfig{{Name: lead.CRM, MaxWorkers: 1}}, RetryMax: time.Minute}
	if err := queue.Migrate(ctx, riversqlite.New(pool), o.Log); err != nil {
		panic(err)
	}

	inTransaction, err := queue.InTransactions(riversqlite.New(pool), o)
	if err != nil {
		panic(err)
	}
	tables, err := sqlite.Open(ctx, sqlite.Options{
		Path:  path,
		Pool:  pool,
		Log:   slog.New(slog.DiscardHandler),
		Queue: inTransaction,
	})
	if err != nil {
		panic(err)
	}
	o.Store = tables
	jobs, err := queue.New(riversqlite.New(pool), o)
	if err != nil {
		panic(err)
	}

	return tables, jobs, func() {
		_ = tables.Close()
		_ = pool.Close()
		_ = os.RemoveAll(dir)
	}
}
