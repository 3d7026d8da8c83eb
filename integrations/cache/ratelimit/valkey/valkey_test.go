package valkey_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cache/ratelimit"
	"siteapi/integrations/cache/ratelimit/ratelimittest"
	"siteapi/integrations/cache/ratelimit/valkey"
)

func open(t testing.TB, o valkey.Options) *valkey.Limiter {
	t.Helper()
	l, err := valkey.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	var n atomic.Int32
	prefix := func() string { return fmt.Sprintf("test%d:", n.Add(1)) }
	ratelimittest.Run(t, func(t *testing.T) ratelimit.Limiter {
		return open(t, valkey.Options{URL: server.URL(), Prefix: prefix()})
	})
	ratelimittest.RunShared(t, func(t *testing.T) (a, b ratelimit.Limiter) {
		o := valkey.Options{URL: server.URL(), Prefix: prefix()}
		return open(t, o), open(t, o)
	})
}

// Without its server the limiter passes the same suite, counting alone.
func TestConformanceAlone(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	server.Stop()
	ratelimittest.Run(t, func(t *testing.T) ratelimit.Limiter { return open(t, valkey.Options{URL: server.URL()}) })
}

func TestServerGoesAndComesBack(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	l, rule := open(t, valkey.Options{URL: server.URL()}), ratelimit.Rule{Limit: 2, Period: time.Hour}
	if d := l.Allow(t.Context(), "k", rule); !d.OK {
		t.Fatalf("%+v", d)
	}
	server.Pause(t)
	begin := time.Now()
	for i, want := range []bool{true, true, false} {
		if d := l.Allow(t.Context(), "k", rule); d.OK != want {
			t.Errorf("request %d while away: %+v", i+1, d)
		}
	}
	if took := time.Since(begin); took > 400*time.Millisecond {
		t.Errorf("three decisions took %v while the server is away", took)
	}
	server.Resume(t)
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		key := fmt.Sprint("new", time.Now().UnixNano())
		l.Allow(t.Context(), key, rule)
		if reply, err := server.Do("GET", "siteapi:r:"+key); err == nil && !strings.HasPrefix(reply, "$-1") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it never counts at the server again")
		}
	}
}

// What was counted goes by itself.
func TestKeysExpire(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	l := open(t, valkey.Options{URL: server.URL()})
	l.Allow(t.Context(), "k", ratelimit.Rule{Limit: 10, Period: time.Second})
	reply, err := server.Do("PTTL", "siteapi:r:k")
	if err != nil || reply < ":0" || reply == ":-1\r\n" {
		t.Errorf("life: %q, %v", reply, err)
	}
	time.Sleep(150 * time.Millisecond)
	if reply, err = server.Do("EXISTS", "siteapi:r:k"); err != nil || reply != ":0\r\n" {
		t.Errorf("still there: %q, %v", reply, err)
	}
}

func BenchmarkAllow(b *testing.B) {
	l := open(b, valkey.Options{URL: valkeyserver.Start(b).URL()})
	rule, ctx := ratelimit.Rule{Limit: 1_000_000, Period: time.Second}, context.Background()
	b.ReportAllocs()
	for b.Loop() {
		l.Allow(ctx, "192.0.2.1 /api/quote/track", rule)
	}
}
