package cachetest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"siteapi/integrations/cache"
)

// entryCases are about what is stored and how it comes back.
func entryCases() map[string]func(*testing.T, cache.Cache) {
	return map[string]func(*testing.T, cache.Cache){
		"a value is filled once and kept": func(t *testing.T, c cache.Cache) {
			s := newSource("hello")
			before := time.Now().Add(-5 * time.Millisecond) // a backend may keep whole milliseconds
			if _, ok := c.Peek(t.Context(), "k"); ok {
				t.Error("Peek found something in an empty cache")
			}
			first := get(t, c, "k", long(), s.fill, "hello")
			second := get(t, c, "k", long(), forbidden(t), "hello")
			s.wantOneFill(t)
			if first.Revision == "" || first.Revision != second.Revision || !first.StoredAt.Equal(second.StoredAt) {
				t.Errorf("the entry changed: %q at %v, then %q at %v", first.Revision, first.StoredAt, second.Revision, second.StoredAt)
			}
			if first.StoredAt.Before(before) || first.StoredAt.After(time.Now().Add(time.Second)) {
				t.Errorf("stored at %v, want about now", first.StoredAt)
			}
			peeked, ok := c.Peek(t.Context(), "k")
			if !ok || string(peeked.Value) != "hello" || peeked.Revision != first.Revision {
				t.Errorf("Peek = %q, %v", peeked.Value, ok)
			}
		},
		"nothing is a value": func(t *testing.T, c cache.Cache) {
			for _, value := range [][]byte{nil, {}} {
				key := "nil"
				if value != nil {
					key = "empty"
				}
				fill := func(context.Context) ([]byte, error) { return value, nil }
				get(t, c, key, long(), fill, "")
				get(t, c, key, long(), forbidden(t), "")
			}
		},
		"any bytes come back": func(t *testing.T, c cache.Cache) {
			big := bytes.Repeat([]byte{0, 0xff, '\r', '\n', '$'}, 200_000)
			fill := func(context.Context) ([]byte, error) { return big, nil }
			get(t, c, "big", long(), fill, string(big))
			get(t, c, "big", long(), forbidden(t), string(big))
		},
		"the revision follows the bytes": func(t *testing.T, c cache.Cache) {
			s := newSource("one")
			first := get(t, c, "k", long(), s.fill, "one")
			if err := c.Invalidate(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			if again := get(t, c, "k", long(), s.fill, "one"); again.Revision != first.Revision {
				t.Errorf("same bytes, but revision %q then %q", first.Revision, again.Revision)
			}
			if err := c.Invalidate(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			s.set("two")
			if other := get(t, c, "k", long(), s.fill, "two"); other.Revision == first.Revision {
				t.Errorf("other bytes, but still revision %q", first.Revision)
			}
		},
		"an error is returned and not stored": func(t *testing.T, c cache.Cache) {
			fail := func(context.Context) ([]byte, error) { return []byte("half"), errFill }
			if _, err := c.Get(t.Context(), "k", long(), fail); !errors.Is(err, errFill) {
				t.Errorf("Get: %v, want the error of the fill", err)
			}
			if n := c.Stats(t.Context()).Size; n != 0 {
				t.Errorf("size %d after a failed fill", n)
			}
			get(t, c, "k", long(), newSource("whole").fill, "whole")
		},
		"an entry expires": func(t *testing.T, c cache.Cache) {
			s := newSource("old")
			life := cache.Lifetime{Fresh: 60 * time.Millisecond}
			get(t, c, "k", life, s.fill, "old")
			s.set("new")
			time.Sleep(80 * time.Millisecond)
			if _, ok := c.Peek(t.Context(), "k"); ok {
				t.Error("Peek found an expired entry")
			}
			get(t, c, "k", life, s.fill, "new")
		},
		"without a lifetime it is kept for good": func(t *testing.T, c cache.Cache) {
			get(t, c, "k", cache.Lifetime{Stale: time.Millisecond}, newSource("v").fill, "v")
			time.Sleep(20 * time.Millisecond)
			get(t, c, "k", cache.Lifetime{}, forbidden(t), "v")
		},
		"statistics": func(t *testing.T, c cache.Cache) {
			stats := c.Stats(t.Context())
			if stats.Type == "" || stats.Size != 0 || !stats.Available {
				t.Errorf("empty: %+v", stats)
			}
			put(t, c, "a", "b", "c")
			if stats = c.Stats(t.Context()); stats.Size != 3 || !stats.Available {
				t.Errorf("three entries: %+v", stats)
			}
			if err := c.Invalidate(t.Context(), "b"); err != nil {
				t.Fatal(err)
			}
			if stats = c.Stats(t.Context()); stats.Size != 2 {
				t.Errorf("two left: %+v", stats)
			}
			g := newGate("v")
			got := later(t.Context(), c, "d", long(), g.fill)
			g.wait(t)
			if stats = c.Stats(t.Context()); stats.Size != 2 {
				t.Errorf("a fill under way was counted: %+v", stats)
			}
			g.release()
			receive(t, got)
			get(t, c, "brief", cache.Lifetime{Fresh: 10 * time.Millisecond}, g.fill, "v")
			time.Sleep(30 * time.Millisecond)
			eventually(t, "the expired entry isn't counted", func() bool { return c.Stats(t.Context()).Size == 3 })
		},
	}
}

// keyCases are about keys that look like something else.
func keyCases() map[string]func(*testing.T, cache.Cache) {
	return map[string]func(*testing.T, cache.Cache){
		"odd keys are kept apart": func(t *testing.T, c cache.Cache) {
			keys := oddKeys()
			put(t, c, keys...)
			if n := c.Stats(t.Context()).Size; n != len(keys) {
				t.Errorf("size %d, want %d", n, len(keys))
			}
			for _, key := range keys {
				get(t, c, key, long(), forbidden(t), "value of "+key)
			}
			for i, key := range keys {
				if err := c.Invalidate(t.Context(), key); err != nil {
					t.Fatal(err)
				}
				if n := c.Stats(t.Context()).Size; n != len(keys)-i-1 {
					t.Fatalf("size %d after %q went, want %d", n, key, len(keys)-i-1)
				}
			}
		},
		"invalidation takes many keys, filled or not": func(t *testing.T, c cache.Cache) {
			put(t, c, "a", "b", "c")
			if err := c.Invalidate(t.Context(), "a", "never filled", "c"); err != nil {
				t.Fatal(err)
			}
			if err := c.Invalidate(t.Context()); err != nil {
				t.Errorf("invalidating nothing: %v", err)
			}
			get(t, c, "a", long(), newSource("new").fill, "new")
			get(t, c, "b", long(), forbidden(t), "value of b")
			get(t, c, "c", long(), newSource("new").fill, "new")
		},
	}
}
