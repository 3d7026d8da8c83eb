package postgres_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

// TestFailures covers failures while the server is up.
func TestFailures(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	for name, test := range map[string]func(*testing.T, string){
		"connections cut": connectionsCut,
		"read-only":       readOnly,
		"table locked":    tableLocked,
		"role at limit":   roleAtLimit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server.NewDatabase(t))
		})
	}
}

const cutConnections = `SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND datname = current_database()`

// A transaction whose connection broke before its commit is retried.
func connectionsCut(t *testing.T, at string) {
	s := storetest.PostgreSQL(at)
	db := s.MustOpen(t, &storetest.Jobs{})
	for i := range 10 {
		s.Strings(t, cutConnections)
		if _, created, err := db.Submit(t.Context(), storetest.Lead(i)); err != nil || !created {
			t.Errorf("submission %d after a cut: new %v, %v", i, created, err)
		}
	}
}

// A role at its limit of connections delays an operation until one of them has ended.
func roleAtLimit(t *testing.T, at string) {
	for name, operation := range map[string]func(*postgres.Database) error{
		"exec": func(d *postgres.Database) error {
			_, err := d.Exec(t.Context(), `SELECT 1`)
			return err
		},
		"query": func(d *postgres.Database) error {
			return d.Query(t.Context(), `SELECT 1`, nil, func(store.Scan) error { return nil })
		},
		"write": func(d *postgres.Database) error {
			return d.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
				_, err := tx.Exec(ctx, `SELECT 1`)
				return err
			})
		},
	} {
		role := "only_" + name
		storetest.PostgreSQL(at).Exec(t, `CREATE ROLE `+role+` LOGIN CONNECTION LIMIT 1`)
		limited := strings.Replace(at, "siteapi@", role+"@", 1)
		pool, err := postgres.NewPool(t.Context(), limited)
		must(t, err)
		t.Cleanup(pool.Close)

		c, err := pgx.Connect(t.Context(), limited)
		must(t, err)
		time.AfterFunc(100*time.Millisecond, func() { _ = c.Close(context.Background()) })
		must(t, operation(postgres.New(pool, func(pgx.Tx) store.Jobs { return &storetest.Jobs{} })))
	}
}

// A primary that has become a standby rejects writes until it is promoted again.
func readOnly(t *testing.T, at string) {
	s := storetest.PostgreSQL(at)
	name := s.Strings(t, `SELECT current_database()::text`)[0]
	db := s.MustOpen(t, nil)
	submit := func() error { _, _, err := db.Submit(t.Context(), storetest.Lead(1)); return err }

	s.Exec(t, `ALTER DATABASE `+name+` SET default_transaction_read_only = on`)
	s.Strings(t, cutConnections)
	wantUnavailable(t, "submit", submit)
	wantUnavailable(t, "ping", func() error { return db.Ping(t.Context()) })

	storetest.PostgreSQL(at+"&default_transaction_read_only=off").
		Exec(t, `ALTER DATABASE `+name+` RESET default_transaction_read_only`)
	s.Strings(t, cutConnections)
	if err := submit(); err != nil {
		t.Errorf("after the promotion: %v", err)
	}
}

// A request that was rejected because of a lock, or because all connections wait for one,
// is not stored after the lock is released either.
func tableLocked(t *testing.T, at string) {
	s, db := storetest.PostgreSQL(at), storetest.PostgreSQL(at+"&pool_max_conns=2").MustOpen(t, nil)
	c, err := pgx.Connect(t.Context(), at)
	if err == nil {
		_, err = c.Exec(t.Context(), `BEGIN; LOCK TABLE leads, sessions`)
	}
	must(t, err)

	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			wantUnavailable(t, "submit", func() error {
				_, _, err := db.Submit(t.Context(), storetest.Lead(i))
				return err
			})
		})
		wg.Go(func() {
			wantUnavailable(t, "track", func() error {
				return db.Track(t.Context(), storetest.Visit("s", storetest.When()))
			})
		})
	}
	wg.Wait()

	must(t, c.Close(t.Context()))

	if _, _, err := db.Submit(t.Context(), storetest.Lead(20)); err != nil {
		t.Errorf("after the lock is released: %v", err)
	}
	if got := s.Strings(t, `SELECT id FROM leads UNION ALL SELECT id FROM sessions`); len(got) != 1 {
		t.Errorf("stored after all: %q", got)
	}
}
