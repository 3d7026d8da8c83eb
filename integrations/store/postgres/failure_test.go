package postgres_test

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

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
