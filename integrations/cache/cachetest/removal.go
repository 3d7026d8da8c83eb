package cachetest

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache"
)

// removals are the ways to remove the key "k".
var removals = []func(ctx context.Context, c cache.Cache) error{
	func(ctx context.Context, c cache.Cache) error { return c.Invalidate(ctx, "other", "k") },
	func(ctx context.Context, c cache.Cache) error {
		_, err := c.Clear(ctx, cache.Pattern("*"))
		return err
	},
}

// supersededFill removes the key on either instance during a fill.
func supersededFill(t *testing.T, a, b cache.Cache) {
	for _, remove := range removals {
		for _, at := range []cache.Cache{a, b} {
			old, fresh := blocked("old"), newSource("new")
			before := getAsync(t.Context(), a, "k", old)
			old.waitForFill(t)
			if err := remove(t.Context(), at); err != nil {
				t.Fatal(err)
			}

			// The old fill is still running.
			get(t, at, "k", fresh, "new")
			close(old.block)
			<-before
			serves(t, a, fresh, "new")
			serves(t, b, fresh, "new")
			fresh.wantOneFill(t)

			if err := remove(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// noOldValue changes a source, removes its key and reads it on the same instance: the
// value must be at least as new. Meanwhile, concurrent readers cause fills on both
// instances.
func noOldValue(t *testing.T, a, b cache.Cache) {
	var version atomic.Int64
	fill := func(context.Context) ([]byte, cache.Lifetime, error) {
		v := strconv.FormatInt(version.Load(), 10)
		time.Sleep(time.Duration(time.Now().UnixNano() % int64(2*time.Millisecond)))
		return []byte(v), cache.Lifetime{Fresh: 3 * time.Millisecond, Stale: time.Hour}, nil
	}
	read := func(c cache.Cache) int64 {
		e, err := c.Get(t.Context(), "k", fill)
		if err != nil {
			t.Errorf("reading: %v", err)
		}
		v, _ := strconv.ParseInt(string(e.Value), 10, 64)
		return v
	}

	var ended atomic.Bool
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			for !ended.Load() {
				read([]cache.Cache{a, b}[i%2])
			}
		})
	}
	for began := time.Now(); time.Since(began) < time.Second && !t.Failed(); {
		want := version.Add(1)
		if err := removals[want%2](t.Context(), a); err != nil {
			t.Errorf("removing: %v", err)
		}
		if got := read(a); got < want {
			t.Errorf("version %d was read after the removal for version %d", got, want)
		}
	}
	ended.Store(true)
	readers.Wait()

	last := version.Load()
	eventually(t, "both instances serve the last version", func() bool {
		return read(a) == last && read(b) == last
	})
}
