package cachetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache"
)

// refreshCases are about entries that are served once more while they are refreshed.
func refreshCases() map[string]func(*testing.T, cache.Cache) {
	life := cache.Lifetime{Fresh: 50 * time.Millisecond, Stale: time.Hour}
	return map[string]func(*testing.T, cache.Cache){
		"an expired entry is served while one refresh runs": func(t *testing.T, c cache.Cache) {
			get(t, c, "k", life, newSource("old").fill, "old")
			time.Sleep(70 * time.Millisecond)
			if _, ok := c.Peek(t.Context(), "k"); ok {
				t.Error("Peek calls an expired entry fresh")
			}
			g := newGate("new")
			g.waitServed(t, c, "k", life, "old")
			for range 50 {
				get(t, c, "k", life, g.fill, "old")
			}
			g.release()
			eventually(t, "the new value is served", func() bool {
				e, err := c.Get(t.Context(), "k", long(), g.fill)
				return err == nil && string(e.Value) == "new"
			})
			if n := len(g.began); n != 0 {
				t.Errorf("%d refreshes more than one", n)
			}
		},
		"a refresh outlives the request that caused it": func(t *testing.T, c cache.Cache) {
			get(t, c, "k", life, newSource("old").fill, "old")
			time.Sleep(70 * time.Millisecond)
			g := newGate("new")
			g.waitServed(t, c, "k", life, "old") // the context of each of its reads has ended
			g.release()
			eventually(t, "the new value is served", func() bool {
				e, err := c.Get(t.Context(), "k", long(), g.fill)
				return err == nil && string(e.Value) == "new"
			})
		},
		"a failed refresh keeps the old value and is not repeated at once": func(t *testing.T, c cache.Cache) {
			get(t, c, "k", life, newSource("old").fill, "old")
			time.Sleep(70 * time.Millisecond)
			var tries atomic.Int32
			fail := func(context.Context) ([]byte, error) { tries.Add(1); return nil, errFill }
			for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
				get(t, c, "k", life, fail, "old")
			}
			if n := tries.Load(); n != 1 {
				t.Errorf("%d tries within 400 ms, want 1 (the pause after a failure is a second)", n)
			}
			s := newSource("new")
			eventually(t, "it is tried again", func() bool {
				e, err := c.Get(t.Context(), "k", long(), s.fill)
				return err == nil && string(e.Value) == "new"
			})
			s.wantOneFill(t)
		},
		"a panicking refresh keeps the old value": func(t *testing.T, c cache.Cache) {
			get(t, c, "k", life, newSource("old").fill, "old")
			time.Sleep(70 * time.Millisecond)
			get(t, c, "k", life, func(context.Context) ([]byte, error) { panic("boom") }, "old")
			time.Sleep(30 * time.Millisecond)
			get(t, c, "k", life, newSource("new").fill, "old")
		},
		"past its time a failed fill is an error": func(t *testing.T, c cache.Cache) {
			brief := cache.Lifetime{Fresh: 20 * time.Millisecond, Stale: 40 * time.Millisecond}
			get(t, c, "k", brief, newSource("old").fill, "old")
			time.Sleep(90 * time.Millisecond)
			fail := func(context.Context) ([]byte, error) { return nil, errFill }
			if e, err := c.Get(t.Context(), "k", brief, fail); err == nil {
				t.Errorf("served %q past its time", e.Value)
			}
		},
	}
}
