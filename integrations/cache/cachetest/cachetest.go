// Package cachetest is the conformance suite of the cache. It checks the guarantees in
// the package comment of cache against a real driver.
package cachetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache"
)

// Run runs every case with new caches: open returns two instances of a cache on one new,
// empty backend. A driver without a shared backend returns one cache twice.
func Run(t *testing.T, open func(t *testing.T) (a, b cache.Cache)) {
	t.Helper()
	for name, run := range map[string]func(t *testing.T, a, b cache.Cache){
		"a value is filled once and stored":                            unchangedValue,
		"an error is returned and not stored":                          failedFill,
		"an entry expires":                                             expiry,
		"an expired entry is served once more":                         refresh,
		"a failed refresh keeps the value and is not repeated at once": failedRefresh,
		"many misses cause one fill, which outlives its request":       manyMisses,
		"a clear removes matching entries":                             clearMatching,
		"statistics count entries":                                     statistics,
		"a removal supersedes a fill":                                  supersededFill,
		"no old value follows a removal":                               noOldValue,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			run(t, a, b)
		})
	}
}

// source represents the system that provides the content.
type source struct {
	life  cache.Lifetime
	err   error
	block chan struct{} // if set, a fill waits until it is closed, after reading the value
	fills atomic.Int32
	value atomic.Value // a string
}

// newSource returns a source of a value with a long lifetime.
func newSource(value string) *source {
	s := &source{life: cache.Lifetime{Fresh: time.Hour}}
	s.value.Store(value)
	return s
}

// blocked returns a source whose fills wait until its channel is closed.
func blocked(value string) *source {
	s := newSource(value)
	s.block = make(chan struct{})
	return s
}

func (s *source) fill(ctx context.Context) ([]byte, cache.Lifetime, error) {
	value := s.value.Load().(string)
	s.fills.Add(1)
	if s.block != nil {
		select {
		case <-s.block:
		case <-ctx.Done():
			return nil, cache.Lifetime{}, context.Cause(ctx)
		}
	}
	return []byte(value), s.life, s.err
}

// waitForFill waits until a fill begins.
func (s *source) waitForFill(t *testing.T) {
	t.Helper()
	eventually(t, "a fill begins", func() bool { return s.fills.Load() >= 1 })
}

func (s *source) wantOneFill(t *testing.T) {
	t.Helper()
	if got := s.fills.Load(); got != 1 {
		t.Errorf("%d fills, want 1", got)
	}
}

// get calls Get and checks the value.
func get(t *testing.T, c cache.Cache, key string, s *source, want string) cache.Entry {
	t.Helper()
	e, err := c.Get(t.Context(), key, s.fill)
	if err != nil || string(e.Value) != want {
		t.Fatalf("Get(%q) = %.40q, %v; want %.40q", key, e.Value, err, want)
	}
	return e
}

// result is the result of a Get in the background.
type result struct {
	value string
	err   error
}

// getAsync calls Get in the background.
func getAsync(ctx context.Context, c cache.Cache, key string, s *source) <-chan result {
	ch := make(chan result, 1)
	go func() {
		e, err := c.Get(ctx, key, s.fill)
		ch <- result{string(e.Value), err}
	}()
	return ch
}

// serves waits until a Get of the key "k" returns a value.
func serves(t *testing.T, c cache.Cache, s *source, want string) {
	t.Helper()
	eventually(t, "Get returns "+want, func() bool {
		e, err := c.Get(t.Context(), "k", s.fill)
		return err == nil && string(e.Value) == want
	})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timeout: %s", what)
		}
	}
}

func unchangedValue(t *testing.T, a, b cache.Cache) {
	if _, ok := a.Peek(t.Context(), "k"); ok {
		t.Error("Peek finds an entry in an empty cache")
	}

	s := newSource("v")
	get(t, a, "k", s, "v")
	for _, c := range []cache.Cache{a, b} {
		e := get(t, c, "k", s, "v")
		peeked, ok := c.Peek(t.Context(), "k")
		if !ok || string(peeked.Value) != "v" || e.Revision != cache.RevisionOf([]byte("v")) {
			t.Errorf("got %+v, peeked %+v %v", e, peeked, ok)
		}
	}
	s.wantOneFill(t)
}

func failedFill(t *testing.T, a, b cache.Cache) {
	s := blocked("half")
	s.err = errors.New("the source is unavailable")
	waiting := []<-chan result{getAsync(t.Context(), a, "k", s)}
	s.waitForFill(t)
	waiting = append(waiting, getAsync(t.Context(), b, "k", s))
	close(s.block)

	for _, ch := range waiting {
		if got := <-ch; !errors.Is(got.err, s.err) {
			t.Errorf("got %+v, want the error of the fill", got)
		}
	}

	if n := a.Stats(t.Context()).Size; n != 0 {
		t.Errorf("%d entries after a failed fill", n)
	}

	get(t, b, "k", newSource("whole"), "whole")
}

func expiry(t *testing.T, a, b cache.Cache) {
	s := newSource("old")
	s.life = cache.Lifetime{Fresh: 50 * time.Millisecond}
	get(t, a, "k", s, "old")

	s.value.Store("new")
	serves(t, a, s, "new")
	serves(t, b, s, "new")
}

// expired stores an entry and waits until it expires.
func expired(t *testing.T, c cache.Cache) {
	t.Helper()
	s := newSource("old")
	s.life = cache.Lifetime{Fresh: 20 * time.Millisecond, Stale: time.Hour}
	get(t, c, "k", s, "old")
	time.Sleep(2 * s.life.Fresh)
	eventually(t, "the entry expires", func() bool {
		_, fresh := c.Peek(t.Context(), "k")
		return !fresh
	})
}

func refresh(t *testing.T, a, b cache.Cache) {
	expired(t, a)

	s := blocked("new")
	for range 50 {
		get(t, a, "k", s, "old")
		get(t, b, "k", s, "old")
	}

	s.waitForFill(t)
	close(s.block)

	serves(t, a, s, "new")
	serves(t, b, s, "new")
	if n := s.fills.Load(); n > 2 {
		t.Errorf("%d fills, want one per instance", n)
	}
}

func failedRefresh(t *testing.T, c, _ cache.Cache) {
	expired(t, c)

	s := newSource("")
	s.err = errors.New("the source is unavailable")

	for began := time.Now(); time.Since(began) < 300*time.Millisecond; time.Sleep(time.Millisecond) {
		get(t, c, "k", s, "old")
	}

	s.wantOneFill(t)
	serves(t, c, newSource("new"), "new")
}

// manyMisses cancels the request that caused a fill before the fill ends.
func manyMisses(t *testing.T, a, b cache.Cache) {
	s := blocked("v")
	ctx, cancel := context.WithCancel(t.Context())
	first := getAsync(ctx, a, "k", s)
	s.waitForFill(t)

	var waiting []<-chan result
	for range 100 {
		waiting = append(waiting, getAsync(t.Context(), a, "k", s), getAsync(t.Context(), b, "k", s))
	}
	cancel()
	if got := <-first; !errors.Is(got.err, context.Canceled) {
		t.Errorf("the canceled request got %+v", got)
	}

	close(s.block)
	for _, ch := range waiting {
		if got := <-ch; got.err != nil || got.value != "v" {
			t.Fatalf("got %+v", got)
		}
	}
	s.wantOneFill(t)
}

func clearMatching(t *testing.T, a, b cache.Cache) {
	keys := []string{
		"content:locale:en", "content:locale:*", "[content]", `back\slash`, "nul\x00byte", "ș ț ¿ €", "*",
		"entry:content", strings.Repeat("long", 500), "\xff\xfe",
	}

	for _, text := range []string{
		"*", "content:*", `content:locale:\*`, `\[content\]`, "?", "[^a-z]*", "*\x00*", "*ț*", "entry:*", "none", "[^",
	} {
		remaining := slices.DeleteFunc(slices.Clone(keys), cache.Pattern(text).Match)
		for _, key := range keys {
			get(t, b, key, newSource(key), key)
		}

		if n, err := a.Clear(t.Context(), cache.Pattern(text)); err != nil || n != len(keys)-len(remaining) {
			t.Errorf("clearing %q: %d, %v; want %d", text, n, err, len(keys)-len(remaining))
		}
		for _, key := range keys {
			if _, ok := a.Peek(t.Context(), key); ok != slices.Contains(remaining, key) {
				t.Errorf("after clearing %q, %.20q exists: %v", text, key, ok)
			}
		}
	}
}

func statistics(t *testing.T, a, b cache.Cache) {
	const entries = 2500 // more than one step of a server's scan
	for i := range entries {
		get(t, a, fmt.Sprint(i), newSource("v"), "v")
	}
	for _, want := range []int{entries, 0} {
		// Entries are counted at most once a second.
		eventually(t, fmt.Sprintf("%d entries are counted", want), func() bool {
			s := b.Stats(t.Context())
			return s.Type != "" && s.Size == want && s.Available && b.Ping(t.Context()) == nil
		})
		if n, err := a.Clear(t.Context(), cache.Pattern("*")); n != want || err != nil {
			t.Errorf("cleared %d, %v; want %d", n, err, want)
		}
	}
}
