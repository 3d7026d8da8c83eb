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

// TestServerAway checks that requests are counted for this instance while the server is
// stopped or frozen, and at the server again when it is back.
func TestServerAway(t *testing.T) {
	t.Parallel()

	server, rule := valkeyserver.Start(t), ratelimit.Rule{Limit: 2, Period: time.Hour, Burst: 2}
	l := open(t, server, "p:")

	server.Pause(t)
	began := time.Now()

	for i, want := range []bool{true, true, false} {
		if ok, _ := l.Allow(t.Context(), "k", 1, rule); ok != want {
			t.Errorf("request %d while away: %v", i+1, ok)
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
			t.Fatal("it never counts at the server again")
		}
	}

	if reply, err := server.Do("PTTL", "p:rate:again"); err != nil || reply == int64(-1) {
		t.Errorf("what was counted does not expire: %v, %v", reply, err)
	}
}
