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

// removal is one way to make the key "k" go.
type removal func(ctx context.Context, c cache.Cache) error

func removals() map[string]removal {
	return map[string]removal{
		"an invalidated key": func(ctx context.Context, c cache.Cache) error {
			return c.Invalidate(ctx, "other", "k")
		},
		"a cleared key": func(ctx context.Context, c cache.Cache) error {
			_, err := c.Clear(ctx, cache.Pattern("*"))
			return err
		},
	}
}

// overtakenFill removes the key, at either instance, while a fill of it is under way.
func overtakenFill(t *testing.T, a, b cache.Cache, remove removal) {
	for _, at := range []cache.Cache{a, b} {
		old, fresh := blocked("old"), newSource("new")

		before := later(t.Context(), a, "k", old)
		old.began(t)

		if err := remove(t.Context(), at); err != nil {
			t.Fatal(err)
		}

		// The old fill is still under way.
		get(t, at, "k", fresh, "new")
		after := later(t.Context(), a, "k", fresh)

		close(old.hold)
		receive(t, before)
		if got := receive(t, after); got.value != "new" {
			t.Errorf("a read that began after it got %+v", got)
		}

		serves(t, a, fresh, "new")
		serves(t, b, fresh, "new")
		fresh.wantOneFill(t)

		if err := remove(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
}

// neverThePast changes a source, removes its key and reads it back at the same instance:
// the answer must be at least as new. Readers keep both instances filling all the while.
func neverThePast(t *testing.T, a, b cache.Cache, remove removal) {
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

	stop := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					read([]cache.Cache{a, b}[i%2])
				}
			}
		})
	}

	for began := time.Now(); time.Since(began) < 500*time.Millisecond && !t.Failed(); {
		want := version.Add(1)
		if err := remove(t.Context(), a); err != nil {
			t.Errorf("removing: %v", err)
		}
		if got := read(a); got < want {
			t.Errorf("version %d was read after %d was announced", got, want)
		}
	}

	close(stop)
	readers.Wait()

	last := version.Load()
	eventually(t, "both instances serve the last version", func() bool {
		return read(a) == last && read(b) == last
	})
}
