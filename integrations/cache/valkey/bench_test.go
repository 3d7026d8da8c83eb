package valkey_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cache/valkey"
)

const hotKey = "content:locale:en"

// page is a fill of 4 KiB.
func page(context.Context) ([]byte, error) { return make([]byte, 4096), nil }

// hot returns a cache with one entry.
func hot(b *testing.B, life cache.Lifetime) *valkey.Cache {
	b.Helper()
	c := open(b, valkey.Options{URL: valkeyserver.Start(b).URL()})
	if _, err := c.Get(b.Context(), hotKey, life, page); err != nil {
		b.Fatal(err)
	}
	return c
}

func BenchmarkGetHot(b *testing.B) {
	life := cache.Lifetime{Fresh: time.Hour}
	c, ctx := hot(b, life), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Get(ctx, hotKey, life, page); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPeekHot(b *testing.B) {
	c, ctx := hot(b, cache.Lifetime{Fresh: time.Hour}), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.Peek(ctx, hotKey); !ok {
			b.Fatal("not there")
		}
	}
}

// BenchmarkInvalidation measures the time from the call of Invalidate on one instance
// until another one doesn't find its copy any more.
func BenchmarkInvalidation(b *testing.B) {
	life := cache.Lifetime{Fresh: time.Hour}
	url := valkeyserver.Start(b).URL()
	one, two := open(b, valkey.Options{URL: url}), open(b, valkey.Options{URL: url})
	ctx := context.Background()
	var took []time.Duration
	for b.Loop() {
		if _, err := two.Get(ctx, hotKey, life, page); err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		if err := one.Invalidate(ctx, hotKey); err != nil {
			b.Fatal(err)
		}
		for {
			if _, ok := two.Peek(ctx, hotKey); !ok {
				break
			}
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "µs-max")
}

// BenchmarkClear100k clears 100,000 keys under a pattern while another client reads:
// a hot entry, which it has, and missing ones, which take four round trips each.
func BenchmarkClear100k(b *testing.B) {
	server := valkeyserver.Start(b)
	c := open(b, valkey.Options{URL: server.URL()})
	reader := open(b, valkey.Options{URL: server.URL()})
	ctx := context.Background()
	for b.Loop() {
		b.StopTimer()
		writeBulk(b, server, 100_000)
		quiet := measure(reader, server, func() { time.Sleep(time.Second) })
		b.StartTimer()
		begin := time.Now()
		busy := measure(reader, server, func() {
			p, err := cache.ParsePattern("bulk:*")
			if err != nil {
				b.Fatal(err)
			}
			if n, err := c.Clear(ctx, p); err != nil || n != 100_000 {
				b.Fatal(n, err)
			}
		})
		took := time.Since(begin)
		b.Logf("clear of 100,000 keys: %v; p99 of hot reads %v before, %v during; p99 of a fill %v before, %v during",
			took.Round(time.Millisecond), quiet.hot, busy.hot, quiet.fill, busy.fill)
	}
}

// writeBulk writes n entries as fills would, past the driver to save time.
func writeBulk(b *testing.B, server *valkeyserver.Server, n int) {
	b.Helper()
	const script = `for _, name in ipairs(ARGV) do redis.call('HSET', name, 'v', 'x', 'r', 'r', 't', '0', 's', '0') end return 'OK'`
	for first := 0; first < n; first += 1000 {
		args := []string{"EVAL", script, "0"}
		for i := range 1000 {
			args = append(args, valkey.EntryName(valkey.DefaultPrefix, fmt.Sprint("bulk:", first+i)))
		}
		if reply, err := server.Do(args...); err != nil || reply != "$2\r\nOK\r\n" {
			b.Fatal(reply, err)
		}
	}
}

// latencies are 99th percentiles.
type latencies struct{ hot, fill time.Duration }

// measure reads while do runs.
func measure(c *valkey.Cache, server *valkeyserver.Server, do func()) latencies {
	var stop atomic.Bool
	var hot, fills []time.Duration
	done := make(chan struct{})
	life := cache.Lifetime{Fresh: time.Hour}
	go func() {
		defer close(done)
		for i := 0; !stop.Load(); i++ {
			begin := time.Now()
			_, _ = c.Get(context.Background(), hotKey, life, page)
			hot = append(hot, time.Since(begin))
			begin = time.Now()
			_, _ = c.Get(context.Background(), fmt.Sprint("absent", i), cache.Lifetime{Fresh: time.Millisecond}, page)
			fills = append(fills, time.Since(begin))
			time.Sleep(100 * time.Microsecond)
		}
	}()
	do()
	stop.Store(true)
	<-done
	return latencies{p99(hot), p99(fills)}
}

func p99(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)*99/100]
}
