package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
)

// The same content again is the same lead, with or without an idempotency key. A key that
// stood for other content is refused. These leads are in review, so that no queue is needed.
func ExampleQuotes() {
	ctx := context.Background()
	tables, closeAll := open(ctx)
	defer closeAll()

	for _, n := range []store.NewLead{
		{Lead: lead.Lead{ID: "first"}, ContentKey: "of a shop"},
		{Lead: lead.Lead{ID: "second"}, ContentKey: "of a shop", IdempotencyKey: "visitor's"},
		{Lead: lead.Lead{ID: "third"}, ContentKey: "of a blog", IdempotencyKey: "visitor's"},
	} {
		n.Lead.InReview = true
		stored, created, err := tables.Submit(ctx, n)
		fmt.Println(stored.ID, created, err)
	}

	// Output:
	// first true <nil>
	// first false <nil>
	//  false submitting a quote: the idempotency key stands for other content
}

// open opens a store in a folder of its own.
func open(ctx context.Context) (tables store.Quotes, closeAll func()) {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	path := filepath.Join(dir, "site.db")

	pool, err := sqlite.OpenDB(ctx, path)
	if err != nil {
		panic(err)
	}
	s, err := sqlite.Open(ctx, sqlite.Options{
		Path:  path,
		Pool:  pool,
		Queue: func(*sql.Tx) store.Jobs { return nil },
		Log:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	return s, func() {
		_ = s.Close()
		_ = pool.Close()
		_ = os.RemoveAll(dir)
	}
}
