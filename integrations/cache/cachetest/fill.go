package cachetest

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"siteapi/integrations/cache"
)

// contextKey is the key of a context value.
type contextKey struct{}

// fillCases are about fills and those who wait for them.
func fillCases() map[string]func(*testing.T, cache.Cache) {
	return map[string]func(*testing.T, cache.Cache){
		"many misses cause one fill": func(t *testing.T, c cache.Cache) {
			s := newSource("v")
			var answers []<-chan answer
			for range 200 {
				answers = append(answers, later(t.Context(), c, "k", long(), s.slow))
			}
			for _, ch := range answers {
				if a := receive(t, ch); a.err != nil || string(a.entry.Value) != "v" {
					t.Fatalf("%q, %v", a.entry.Value, a.err)
				}
			}
			s.wantOneFill(t)
		},
		"fills of other keys don't wait": func(t *testing.T, c cache.Cache) {
			g := newGate("slow")
			slow := later(t.Context(), c, "slow", long(), g.fill)
			g.wait(t)
			get(t, c, "quick", long(), newSource("quick").fill, "quick")
			g.release()
			receive(t, slow)
		},
		"the fill outlives who caused it": func(t *testing.T, c cache.Cache) {
			g := newGate("v")
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), contextKey{}, "traced"))
			fill := func(ctx context.Context) ([]byte, error) {
				if ctx.Value(contextKey{}) != "traced" {
					t.Error("the fill lost the values of its request")
				}
				if _, ok := ctx.Deadline(); !ok {
					t.Error("the fill has no time-out")
				}
				return g.fill(ctx)
			}
			first := later(ctx, c, "k", long(), fill)
			g.wait(t)
			second := later(t.Context(), c, "k", long(), forbidden(t))
			time.Sleep(10 * time.Millisecond) // lets the second one join
			cancel()
			if a := receive(t, first); !errors.Is(a.err, context.Canceled) {
				t.Errorf("the one who went: %v, want context.Canceled", a.err)
			}
			g.release()
			if a := receive(t, second); a.err != nil || string(a.entry.Value) != "v" {
				t.Errorf("the one who stayed: %q, %v", a.entry.Value, a.err)
			}
		},
		"a request that is over causes no fill": func(t *testing.T, c cache.Cache) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := c.Get(ctx, "k", long(), forbidden(t)); !errors.Is(err, context.Canceled) {
				t.Errorf("Get: %v, want context.Canceled", err)
			}
		},
		"a panic doesn't wedge the key": func(t *testing.T, c cache.Cache) {
			began := make(chan struct{})
			fill := func(context.Context) ([]byte, error) {
				close(began)
				time.Sleep(30 * time.Millisecond)
				panic("boom")
			}
			first := later(t.Context(), c, "k", long(), fill)
			<-began
			second := later(t.Context(), c, "k", long(), func(context.Context) ([]byte, error) { panic("late boom") })
			for _, ch := range []<-chan answer{first, second} {
				var p *cache.PanicError
				if a := receive(t, ch); !errors.As(a.err, &p) || len(p.Stack) == 0 {
					t.Errorf("Get: %v, want a PanicError with a stack", a.err)
				}
			}
			get(t, c, "k", long(), newSource("v").fill, "v")
		},
		"a fill that ends its goroutine doesn't wedge the key": func(t *testing.T, c cache.Cache) {
			fill := func(context.Context) ([]byte, error) { runtime.Goexit(); return nil, nil }
			if a := receive(t, later(t.Context(), c, "k", long(), fill)); a.err == nil {
				t.Error("no error from a fill that never returned")
			}
			get(t, c, "k", long(), newSource("v").fill, "v")
		},
	}
}
