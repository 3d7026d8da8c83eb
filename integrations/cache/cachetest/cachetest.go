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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			run(t, a, b)
		})
	}
}

// Source represents the system that provides the content.
type Source struct {
	life    cache.Lifetime
	err     error
	Release chan struct{} // if set, a fill waits until it is closed, after reading the value
	Fills   atomic.Int32
	Value   atomic.Value // a string
}

// NewSource returns a source of a value with a long lifetime.
func NewSource(value string) *Source {
	s := &Source{life: cache.Lifetime{Fresh: time.Hour}}
	s.Value.Store(value)
	return s
}

// Blocked returns a source whose fills wait until its channel is closed.
func Blocked(value string) *Source {
	s := NewSource(value)
	s.Release = make(chan struct{})
	return s
}

// Fill implements [cache.Fill].
func (s *Source) Fill(ctx context.Context) ([]byte, cache.Lifetime, error) {
	value := s.Value.Load().(string)
	s.Fills.Add(1)
	if s.Release != nil {
		select {
		case <-s.Release:
		case <-ctx.Done():
			return nil, cache.Lifetime{}, context.Cause(ctx)
		}
	}
	return []byte(value), s.life, s.err
}

// WaitForFill waits until a fill begins.
func (s *Source) WaitForFill(t *testing.T) {
	t.Helper()
	Eventually(t, "a fill begins", func() bool { return s.Fills.Load() >= 1 })
}

func (s *Source) wantOneFill(t *testing.T) {
	t.Helper()
	if got := s.Fills.Load(); got != 1 {
		t.Errorf("%d fills, want 1", got)
	}
}

// Get calls Get and checks the value.
func Get(t *testing.T, c cache.Cache, key string, s *Source, want string) cache.Entry {
	t.Helper()
	e, err := c.Get(t.Context(), key, s.Fill)
	if err != nil || string(e.Value) != want {
		t.Fatalf("Get(%q) = %.40q, %v; want %.40q", key, e.Value, err, want)
	}
	return e
}

// Result is the result of a Get in the background.
type Result struct {
	Value string
	Err   error
}

// GetAsync calls Get in the background.
func GetAsync(ctx context.Context, c cache.Cache, key string, s *Source) <-chan Result {
	ch := make(chan Result, 1)
	go func() {
		e, err := c.Get(ctx, key, s.Fill)
		ch <- Result{string(e.Value), err}
	}()
	return ch
}

// serves waits until a Get of the key "k" returns "new".
func serves(t *testing.T, c cache.Cache, s *Source) {
	t.Helper()
	Eventually(t, "Get returns the new value", func() bool {
		e, err := c.Get(t.Context(), "k", s.Fill)
		return err == nil && string(e.Value) == "new"
	})
}

// Eventually waits until a condition holds.
func Eventually(t *testing.T, what string, ok func() bool) {
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

	s := NewSource("v")
	Get(t, a, "k", s, "v")
	for _, c := range []cache.Cache{a, b} {
		e := Get(t, c, "k", s, "v")
		peeked, ok := c.Peek(t.Context(), "k")
		if !ok || string(peeked.Value) != "v" || e.Revision != cache.RevisionOf([]byte("v")) {
			t.Errorf("got %+v, peeked %+v %v", e, peeked, ok)
		}
	}
	s.wantOneFill(t)
}

func failedFill(t *testing.T, a, b cache.Cache) {
	s := Blocked("half")
	s.err = errors.New("the source is unavailable")
	waiting := []<-chan Result{GetAsync(t.Context(), a, "k", s)}
	s.WaitForFill(t)
	waiting = append(waiting, GetAsync(t.Context(), b, "k", s))
	close(s.Release)

	for _, ch := range waiting {
		if got := <-ch; !errors.Is(got.Err, s.err) {
			t.Errorf("got %+v, want the error of the fill", got)
		}
	}

	if n := a.Stats(t.Context()).Size; n != 0 {
		t.Errorf("%d entries after a failed fill", n)
	}

	Get(t, b, "k", NewSource("whole"), "whole")
}

func expiry(t *testing.T, a, b cache.Cache) {
	s := NewSource("old")
	s.life = cache.Lifetime{Fresh: 50 * time.Millisecond}
	Get(t, a, "k", s, "old")

	s.Value.Store("new")
	serves(t, a, s)
	serves(t, b, s)
}

// expired stores an entry and waits until it expires.
func expired(t *testing.T, c cache.Cache) {
	t.Helper()
	s := NewSource("old")
	s.life = cache.Lifetime{Fresh: 20 * time.Millisecond, Stale: time.Hour}
	Get(t, c, "k", s, "old")
	time.Sleep(2 * s.life.Fresh)
	Eventually(t, "the entry expires", func() bool {
		_, fresh := c.Peek(t.Context(), "k")
		return !fresh
	})
}

func refresh(t *testing.T, a, b cache.Cache) {
	expired(t, a)

	s := Blocked("new")
	for range 50 {
		Get(t, a, "k", s, "old")
		Get(t, b, "k", s, "old")
	}

	s.WaitForFill(t)
	close(s.Release)

	serves(t, a, s)
	serves(t, b, s)
	if n := s.Fills.Load(); n > 2 {
		t.Errorf("%d fills, want one per instance", n)
	}
}

func failedRefresh(t *testing.T, c, _ cache.Cache) {
	expired(t, c)

	s := NewSource("")
	s.err = errors.New("the source is unavailable")

	for began := time.Now(); time.Since(began) < 300*time.Millisecond; time.Sleep(time.Millisecond) {
		Get(t, c, "k", s, "old")
	}

	s.wantOneFill(t)
	serves(t, c, NewSource("new"))
}

// manyMisses cancels the request that caused a fill before the fill ends.
func manyMisses(t *testing.T, a, b cache.Cache) {
	s := Blocked("v")
	ctx, cancel := context.WithCancel(t.Context())
	first := GetAsync(ctx, a, "k", s)
	s.WaitForFill(t)

	var waiting []<-chan Result
	for range 100 {
		waiting = append(waiting, GetAsync(t.Context(), a, "k", s), GetAsync(t.Context(), b, "k", s))
	}
	cancel()
	if got := <-first; !errors.Is(got.Err, context.Canceled) {
		t.Errorf("the canceled request got %+v", got)
	}

	close(s.Release)
	for _, ch := range waiting {
		if got := <-ch; got.Err != nil || got.Value != "v" {
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
			Get(t, b, key, NewSource(key), key)
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
		Get(t, a, fmt.Sprint(i), NewSource("v"), "v")
	}
	for _, want := range []int{entries, 0} {
		// Entries are counted at most once a second.
		Eventually(t, fmt.Sprintf("%d entries are counted", want), func() bool {
			s := b.Stats(t.Context())
			return s.Type != "" && s.Size == want && s.Available && b.Ping(t.Context()) == nil
		})
		if n, err := a.Clear(t.Context(), cache.Pattern("*")); n != want || err != nil {
			t.Errorf("cleared %d, %v; want %d", n, err, want)
		}
	}
}

// removals are the ways to remove the key "k".
var removals = []func(ctx context.Context, c cache.Cache) error{
	func(ctx context.Context, c cache.Cache) error { return c.Invalidate(ctx, "other", "k") },
	func(ctx context.Context, c cache.Cache) error {
		_, err := c.Clear(ctx, cache.Pattern("*"))
		return err
	},
}

// supersededFill removes the key on either instance during a fill, and during the refresh
// of an expired entry.
func supersededFill(t *testing.T, a, b cache.Cache) {
	for _, remove := range removals {
		for i, at := range []cache.Cache{a, b, a, b} {
			if isRefresh := i > 1; isRefresh {
				expired(t, a)
			}
			old, fresh := Blocked("old"), NewSource("new")
			before := GetAsync(t.Context(), a, "k", old)
			old.WaitForFill(t)
			if err := remove(t.Context(), at); err != nil {
				t.Fatal(err)
			}

			// The old fill is still running.
			Get(t, at, "k", fresh, "new")
			close(old.Release)
			<-before
			serves(t, a, fresh)
			serves(t, b, fresh)
			fresh.wantOneFill(t)

			if err := remove(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
	}
}
