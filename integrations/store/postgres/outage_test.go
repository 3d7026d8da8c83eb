package postgres_test

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

// patience is longer than any request may take on a busy machine while the database is
// away.
const patience = postgres.OperationTimeout + 20*time.Second

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

// The server is stopped and started, then killed and started, under one open store.
func TestOutage(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	s := subject(server.NewDatabase(t))
	db := s.MustOpen(t, &storetest.Jobs{})

	n := 0
	submit := func() error {
		_, created, err := db.Submit(t.Context(), storetest.Lead(n))
		if err == nil && !created {
			t.Errorf("submission %d was stored although it was refused", n)
		}
		if err == nil {
			n++
		}
		return err
	}

	track := func() error { return db.Track(t.Context(), storetest.Visit("s", storetest.When())) }

	for name, signal := range map[string]syscall.Signal{"stopped": syscall.SIGINT, "killed": syscall.SIGQUIT} {
		if err := errors.Join(submit(), server.End(signal)); err != nil {
			t.Fatalf("before the server is %s: %v", name, err)
		}
		for what, try := range map[string]func() error{
			"submit": submit,
			"track":  track,
			"ping":   func() error { return db.Ping(t.Context()) },
			"read":   func() error { _, err := db.Lead(t.Context(), "id-000000"); return err },
			"prune":  func() error { _, err := db.PruneSessions(t.Context(), time.Now()); return err },
			"erase":  func() error { return db.Erase(t.Context(), "id-000000") },
			"list": func() (last error) {
				for _, err := range db.Leads(t.Context(), store.Filter{}) {
					last = err
				}
				return last
			},
		} {
			wantUnavailable(t, name+": "+what, try)
		}

		server.Start(t)
		if err := errors.Join(submit(), track()); err != nil {
			t.Errorf("after the server was %s: %v", name, err)
		}
	}

	for _, query := range []string{
		`SELECT id FROM leads`,
		`SELECT lead_id FROM deliveries`,
		`SELECT key FROM idempotency_keys`,
	} {
		if got := len(s.Strings(t, query)); got != n {
			t.Errorf("%s: %d rows, want %d", query, got, n)
		}
	}
}

// A store that is opened while its database is away fails in time.
func TestStartWhileAway(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()

	server := pgserver.Start(t)
	for name, c := range map[string]struct {
		url         string
		unavailable bool
	}{
		"no answer":        {"postgres://siteapi:secret@" + silent.Addr().String() + "/x", true},
		"unknown database": {server.URL("nothing"), false},
		"not a URL":        {"postgres://siteapi:secret@host:port/x", false},
	} {
		begin := time.Now()
		_, err := postgres.OpenPool(t.Context(), c.url)

		if err == nil || errors.Is(err, store.ErrUnavailable) != c.unavailable {
			t.Errorf("%s: got %v; ErrUnavailable wanted: %v", name, err, c.unavailable)
		}

		if took := time.Since(begin); took > patience {
			t.Errorf("%s: it took %v", name, took)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the password is in the message: %v", name, err)
		}
	}
}
