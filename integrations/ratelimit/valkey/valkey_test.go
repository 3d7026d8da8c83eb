package valkey_test

import (
	"testing"
	"time"

	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/ratelimit"
	"siteapi/integrations/ratelimit/ratelimittest"
	"siteapi/integrations/ratelimit/valkey"
	"siteapi/integrations/valkeyconn"
)

func open(t *testing.T, server *valkeyserver.Server, prefix string) *valkey.Limiter {
	t.Helper()
	conn, err := valkeyconn.Open(t.Context(), server.URL(), func(bool, error) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return valkey.New(conn, prefix)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	l := open(t, server, "test:")
	ratelimittest.Run(t, l)
	ratelimittest.CountTogether(t, l, open(t, server, "test:"))
}

// TestServerUnavailable checks that an instance counts its own requests while the server
// is frozen, and counts on the server again when it is available.
func TestServerUnavailable(t *testing.T) {
	t.Parallel()

	server, rule := valkeyserver.Start(t), ratelimit.Rule{Limit: 2, Period: time.Hour, Burst: 2}
	l := open(t, server, "p:")

	server.Pause(t)
	began := time.Now()

	for i, want := range []bool{true, true, false} {
		if ok, _ := l.Allow(t.Context(), "k", 1, rule); ok != want {
			t.Errorf("request %d while unavailable: %v", i+1, ok)
		}
	}

	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("three decisions took %v while the server is frozen", took)
	}

	server.Resume(t)
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		l.Allow(t.Context(), "again", 1, rule)
		if reply, err := server.Do("EXISTS", "p:rate:again"); err == nil && reply == int64(1) {
			break
		}

		if time.Now().After(end) {
			t.Fatal("timeout: requests are not counted on the server again")
		}
	}

	if reply, err := server.Do("PTTL", "p:rate:again"); err != nil || reply == int64(-1) {
		t.Errorf("the count does not expire: %v, %v", reply, err)
	}
}
