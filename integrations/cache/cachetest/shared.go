package cachetest

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache"
)

// OpenTwo returns two instances of a cache on one new, empty backend. They are closed
// by whoever opened them.
type OpenTwo func(t *testing.T) (a, b cache.Cache)

// RunShared runs the cases of caches that share a backend.
func RunShared(t *testing.T, open OpenTwo) {
	t.Helper()
	for name, run := range sharedCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			run(t, a, b)
		})
	}
}

func sharedCases() map[string]func(t *testing.T, a, b cache.Cache) {
	cases := map[string]func(t *testing.T, a, b cache.Cache){
		"what one fills the other has": func(t *testing.T, a, b cache.Cache) {
			first := get(t, a, "k", long(), newSource("v").fill, "v")
			second := get(t, b, "k", long(), forbidden(t), "v")
			if first.Revision != second.Revision || !first.StoredAt.Equal(second.StoredAt) {
				t.Errorf("%q at %v here, %q at %v there", first.Revision, first.StoredAt, second.Revision, second.StoredAt)
			}
			if n := b.Stats(t.Context()).Size; n != 1 {
				t.Errorf("size %d there", n)
			}
		},
		"many misses on both cause one fill": func(t *testing.T, a, b cache.Cache) {
			s := newSource("v")
			var answers []<-chan answer
			for range 100 {
				answers = append(answers, later(t.Context(), a, "k", long(), s.slow), later(t.Context(), b, "k", long(), s.slow))
			}
			for _, ch := range answers {
				if got := receive(t, ch); got.err != nil || string(got.entry.Value) != "v" {
					t.Fatalf("%q, %v", got.entry.Value, got.err)
				}
			}
			s.wantOneFill(t)
		},
		"a failed fill lets the other try": func(t *testing.T, a, b cache.Cache) {
			g := newGate("")
			fail := func(ctx context.Context) ([]byte, error) {
				_, _ = g.fill(ctx)
				return nil, errFill
			}
			first := later(t.Context(), a, "k", long(), fail)
			g.wait(t)
			second := later(t.Context(), b, "k", long(), newSource("v").fill)
			g.release()
			if got := receive(t, first); got.err == nil {
				t.Errorf("the failed one got %q", got.entry.Value)
			}
			if got := receive(t, second); got.err != nil || string(got.entry.Value) != "v" {
				t.Errorf("the other got %q, %v", got.entry.Value, got.err)
			}
		},
		"an expired entry is refreshed by one": func(t *testing.T, a, b cache.Cache) {
			life := cache.Lifetime{Fresh: time.Second, Stale: time.Hour}
			get(t, a, "k", life, newSource("old").fill, "old")
			get(t, b, "k", life, forbidden(t), "old")
			time.Sleep(life.Fresh + 20*time.Millisecond)
			g := newGate("new")
			g.waitServed(t, a, "k", long(), "old")
			for range 20 {
				get(t, a, "k", long(), g.fill, "old")
				get(t, b, "k", long(), g.fill, "old")
				time.Sleep(5 * time.Millisecond)
			}
			g.release()
			for _, c := range []cache.Cache{a, b} {
				eventually(t, "both serve the new value", func() bool {
					e, err := c.Get(t.Context(), "k", long(), g.fill)
					return err == nil && string(e.Value) == "new"
				})
			}
			if n := len(g.began); n != 0 {
				t.Errorf("%d refreshes more than one", n)
			}
		},
		"the numbers of both agree": func(t *testing.T, a, b cache.Cache) {
			put(t, a, "a", "b")
			put(t, b, "c")
			eventually(t, "both count three", func() bool {
				return a.Stats(t.Context()).Size == 3 && b.Stats(t.Context()).Size == 3
			})
			if n, err := b.Clear(t.Context(), cache.All()); err != nil || n != 3 {
				t.Errorf("cleared %d, %v", n, err)
			}
			eventually(t, "both count none", func() bool {
				return a.Stats(t.Context()).Size == 0 && b.Stats(t.Context()).Size == 0
			})
		},
		"an instance that goes while it fills doesn't block the other": func(t *testing.T, a, b cache.Cache) {
			g := newGate("never")
			first := later(t.Context(), a, "k", long(), g.fill)
			g.wait(t)
			second := later(t.Context(), b, "k", long(), newSource("v").fill)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			receive(t, first)
			if got := receive(t, second); got.err != nil || string(got.entry.Value) != "v" {
				t.Errorf("%q, %v", got.entry.Value, got.err)
			}
		},
	}
	for name, gone := range removals() {
		addSharedRemovals(cases, name, gone)
	}
	return cases
}

// addSharedRemovals adds what has to hold when one instance removes a key that the
// other knows or fills.
func addSharedRemovals(cases map[string]func(t *testing.T, a, b cache.Cache), name string, gone remove) {
	cases["what one has "+name+" the other doesn't serve"] = func(t *testing.T, a, b cache.Cache) {
		s := newSource("old")
		get(t, a, "k", long(), s.fill, "old")
		get(t, b, "k", long(), s.fill, "old")
		s.set("new")
		if err := gone(a, t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		eventually(t, "the other serves the new value", func() bool {
			e, err := b.Get(t.Context(), "k", long(), s.fill)
			return err == nil && string(e.Value) == "new"
		})
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %v, want at most a second", took)
		}
	}
	cases["a fill that the other has "+name+" isn't stored"] = func(t *testing.T, a, b cache.Cache) {
		old := newGate("old")
		waiting := later(t.Context(), a, "k", long(), old.fill)
		old.wait(t)
		if err := gone(b, t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		// The other's own readers are right at once, ours as soon as the news is here.
		get(t, b, "k", long(), newSource("new").fill, "new")
		eventually(t, "our readers leave the old fill alone", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			e, err := a.Get(ctx, "k", long(), forbidden(t))
			return err == nil && string(e.Value) == "new"
		})
		old.release()
		receive(t, waiting)
		time.Sleep(20 * time.Millisecond)
		get(t, a, "k", long(), forbidden(t), "new")
		get(t, b, "k", long(), forbidden(t), "new")
	}
	cases["a fill of nothing known that the other has "+name+" answers nobody later"] = func(t *testing.T, a, b cache.Cache) {
		old := newGate("old")
		waiting := later(t.Context(), a, "k", long(), old.fill)
		old.wait(t)
		if err := gone(b, t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // the news travels
		fresh := newGate("new")
		after := later(t.Context(), a, "k", long(), fresh.fill)
		fresh.wait(t)
		old.release()
		receive(t, waiting)
		fresh.release()
		if got := receive(t, after); string(got.entry.Value) != "new" {
			t.Errorf("who came later got %q, %v", got.entry.Value, got.err)
		}
	}
	cases["who reads after "+name+" never sees the past, with another instance filling"] = func(t *testing.T, a, b cache.Cache) {
		neverThePast(t, gone, a, b)
	}
	cases["in the end both agree, however they race, "+name] = func(t *testing.T, a, b cache.Cache) {
		agreeInTheEnd(t, gone, a, b)
	}
}

// agreeInTheEnd lets two instances change, remove and read one key at once. When it is
// quiet both have to serve the latest value within a second.
func agreeInTheEnd(t *testing.T, gone remove, a, b cache.Cache) {
	var version atomic.Int64
	var fill cache.Fill = func(context.Context) ([]byte, error) {
		v := strconv.FormatInt(version.Load(), 10)
		time.Sleep(time.Duration(time.Now().UnixNano() % int64(time.Millisecond)))
		return []byte(v), nil
	}
	for range 40 {
		done := make(chan error, 4)
		for _, c := range []cache.Cache{a, b} {
			go func() {
				version.Add(1)
				done <- gone(c, t.Context(), "k")
			}()
			go func() {
				_, err := c.Get(t.Context(), "k", long(), fill)
				done <- err
			}()
		}
		for range 4 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		want := strconv.FormatInt(version.Load(), 10)
		for _, c := range []cache.Cache{a, b} {
			begin := time.Now()
			for {
				e, err := c.Get(t.Context(), "k", long(), fill)
				if err == nil && string(e.Value) == want {
					break
				}
				if time.Since(begin) > time.Second {
					t.Fatalf("still %q after a second, want %q (%v)", e.Value, want, err)
				}
			}
		}
	}
}
