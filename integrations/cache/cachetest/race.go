package cachetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache"
)

// remove is one way to make a key go.
type remove func(c cache.Cache, ctx context.Context, key string) error

// removals are all ways to make a key go.
func removals() map[string]remove {
	return map[string]remove{
		"invalidated": func(c cache.Cache, ctx context.Context, key string) error { return c.Invalidate(ctx, key) },
		"cleared": func(c cache.Cache, ctx context.Context, key string) error {
			p, err := cache.ParsePattern(cache.Escape(key))
			if err == nil {
				_, err = c.Clear(ctx, p)
			}
			return err
		},
		"cleared with all": func(c cache.Cache, ctx context.Context, _ string) error {
			_, err := c.Clear(ctx, cache.All())
			return err
		},
	}
}

// raceCases are about fills that a removal overtakes.
func raceCases() map[string]func(*testing.T, cache.Cache) {
	cases := map[string]func(*testing.T, cache.Cache){}
	for name, gone := range removals() {
		cases["a fill that is "+name+" isn't stored"] = func(t *testing.T, c cache.Cache) {
			old := newGate("old")
			waiting := later(t.Context(), c, "k", long(), old.fill)
			old.wait(t)
			if err := gone(c, t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			old.release()
			if a := receive(t, waiting); a.err != nil {
				t.Errorf("the one who waited: %v", a.err)
			}
			if e, ok := c.Peek(t.Context(), "k"); ok {
				t.Errorf("%q was put back", e.Value)
			}
			get(t, c, "k", long(), newSource("new").fill, "new")
		}
		cases["a fill that is "+name+" doesn't answer who comes after"] = func(t *testing.T, c cache.Cache) {
			old, fresh := newGate("old"), newGate("new")
			before := later(t.Context(), c, "k", long(), old.fill)
			old.wait(t)
			if err := gone(c, t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			after := later(t.Context(), c, "k", long(), fresh.fill)
			fresh.wait(t)
			fresh.release()
			if a := receive(t, after); a.err != nil || string(a.entry.Value) != "new" {
				t.Errorf("who came after got %q, %v", a.entry.Value, a.err)
			}
			old.release()
			receive(t, before)
			get(t, c, "k", long(), forbidden(t), "new")
		}
		cases["a refresh that is "+name+" isn't stored"] = func(t *testing.T, c cache.Cache) {
			life := cache.Lifetime{Fresh: 20 * time.Millisecond, Stale: time.Hour}
			get(t, c, "k", life, newSource("first").fill, "first")
			time.Sleep(40 * time.Millisecond)
			old := newGate("old")
			old.waitServed(t, c, "k", long(), "first")
			if err := gone(c, t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			get(t, c, "k", long(), newSource("new").fill, "new")
			old.release()
			time.Sleep(50 * time.Millisecond)
			get(t, c, "k", long(), forbidden(t), "new")
		}
		cases["who reads after "+name+" never sees the past"] = func(t *testing.T, c cache.Cache) {
			neverThePast(t, gone, c, c)
		}
	}
	cases["a clear leaves other fills alone"] = func(t *testing.T, c cache.Cache) {
		g := newGate("v")
		waiting := later(t.Context(), c, "other", long(), g.fill)
		g.wait(t)
		if _, err := c.Clear(t.Context(), pattern(t, "content:*")); err != nil {
			t.Fatal(err)
		}
		g.release()
		receive(t, waiting)
		get(t, c, "other", long(), forbidden(t), "v")
	}
	return cases
}

// neverThePast changes a source, removes its key through writer, and reads it back
// through the same: the answer must be at least as new. Readers keep both caches
// filling all the while.
func neverThePast(t *testing.T, gone remove, writer, other cache.Cache) {
	var version atomic.Int64
	var fill cache.Fill = func(context.Context) ([]byte, error) {
		v := strconv.FormatInt(version.Load(), 10)
		time.Sleep(time.Duration(time.Now().UnixNano() % int64(2*time.Millisecond)))
		return []byte(v), nil
	}
	life := cache.Lifetime{Fresh: 3 * time.Millisecond, Stale: time.Hour}
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for i := range 8 {
		c := writer
		if i%2 == 1 {
			c = other
		}
		readers.Go(func() {
			for ctx.Err() == nil {
				if _, err := c.Get(ctx, "k", life, fill); err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("reading: %v", err)
					return
				}
			}
		})
	}
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		want := version.Add(1)
		if err := gone(writer, ctx, "k"); err != nil {
			t.Errorf("removing: %v", err)
			break
		}
		e, err := writer.Get(ctx, "k", life, fill)
		if err != nil {
			t.Errorf("reading back: %v", err)
			break
		}
		if got, _ := strconv.ParseInt(string(e.Value), 10, 64); got < want {
			t.Errorf("version %d after %d was announced", got, want)
			break
		}
	}
	stop()
	readers.Wait()
}
