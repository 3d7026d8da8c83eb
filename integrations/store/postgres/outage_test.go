package postgres_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

// maxWait is longer than any request may take on a busy machine while the database is
// unavailable.
const maxWait = postgres.OperationTimeout + 20*time.Second

func wantUnavailable(t *testing.T, what string, try func() error) {
	t.Helper()
	begin := time.Now()
	if err := try(); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%s: got %v, want ErrUnavailable", what, err)
	}
	if took := time.Since(begin); took > maxWait {
		t.Errorf("%s: it took %v, want at most %v", what, took, maxWait)
	}
}

// Opening a store while its database is unavailable fails in time.
func TestOpenWhileUnavailable(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
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
		_, err := storetest.PostgreSQL(c.url).Open(t.Context(), nil)

		if err == nil || errors.Is(err, store.ErrUnavailable) != c.unavailable {
			t.Errorf("%s: got %v; ErrUnavailable wanted: %v", name, err, c.unavailable)
		}

		if took := time.Since(begin); took > maxWait {
			t.Errorf("%s: it took %v", name, took)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the password is in the message: %v", name, err)
		}
	}
}
