// Package cachetest is the conformance suite of the cache: what the package comment
// of cache promises, case by case, against a real driver. Drivers run it from their
// tests:
//
//	cachetest.Run(t, func(t *testing.T) cache.Cache { … })
//
// A driver whose instances share a backend runs RunShared as well.
package cachetest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache"
)

// Open returns a new, empty cache. It is closed by whoever opened it, at the end of
// the test.
type Open func(t *testing.T) cache.Cache

// Run runs every case against caches of their own.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, group := range []map[string]func(*testing.T, cache.Cache){
		entryCases(), keyCases(), fillCases(), refreshCases(), raceCases(), clearCases(),
	} {
		for name, run := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(t, open(t))
			})
		}
	}
}

// patience is how long a case waits for what has to happen in the end.
const patience = 5 * time.Second

// long is a lifetime that no case outlives.
func long() cache.Lifetime { return cache.Lifetime{Fresh: time.Hour} }

// errFill is what failing fills return.
var errFill = errors.New("the source is away")

// source stands for the system that content comes from.
type source struct {
	fills atomic.Int32
	value atomic.Pointer[string]
}

// newSource returns a source that answers with value.
func newSource(value string) *source {
	s := &source{}
	s.set(value)
	return s
}

func (s *source) set(value string) { s.value.Store(&value) }

// fill is a cache.Fill that counts its calls.
func (s *source) fill(context.Context) ([]byte, error) {
	s.fills.Add(1)
	return []byte(*s.value.Load()), nil
}

// slow is fill, but each call takes a while so that others can come.
func (s *source) slow(ctx context.Context) ([]byte, error) {
	value, err := s.fill(ctx)
	time.Sleep(50 * time.Millisecond)
	return value, err
}

// wantOneFill checks that the source was asked once.
func (s *source) wantOneFill(t *testing.T) {
	t.Helper()
	if got := s.fills.Load(); got != 1 {
		t.Errorf("the source was asked %d times, want once", got)
	}
}

// gate is a fill that waits until it is let go.
type gate struct {
	began chan struct{} // one message per fill that began
	open  chan struct{} // closed by release
	value string
}

func newGate(value string) *gate {
	return &gate{began: make(chan struct{}, 100), open: make(chan struct{}), value: value}
}

func (g *gate) fill(ctx context.Context) ([]byte, error) {
	g.began <- struct{}{}
	select {
	case <-g.open:
		return []byte(g.value), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// wait returns when a fill has begun.
func (g *gate) wait(t *testing.T) {
	t.Helper()
	select {
	case <-g.began:
	case <-time.After(patience):
		t.Fatal("no fill began")
	}
}

// waitServed reads an expired entry until its refresh has begun; each read has to be
// answered with want. A read whose copy is dropped under it begins no refresh, so one
// read may not be enough.
func (g *gate) waitServed(t *testing.T, c cache.Cache, key string, life cache.Lifetime, want string) {
	t.Helper()
	eventually(t, "a refresh begins", func() bool {
		get(t, c, key, life, g.fill, want)
		select {
		case <-g.began:
			return true
		default:
			return false
		}
	})
}

// release lets all fills go.
func (g *gate) release() { close(g.open) }

// answer is what a Get in the background brought.
type answer struct {
	entry cache.Entry
	err   error
}

// later calls Get in the background.
func later(ctx context.Context, c cache.Cache, key string, life cache.Lifetime, fill cache.Fill) <-chan answer {
	ch := make(chan answer, 1)
	go func() {
		e, err := c.Get(ctx, key, life, fill)
		ch <- answer{e, err}
	}()
	return ch
}

// receive waits for an answer.
func receive(t *testing.T, ch <-chan answer) answer {
	t.Helper()
	select {
	case a := <-ch:
		return a
	case <-time.After(patience):
		t.Fatal("no answer")
		return answer{}
	}
}

// get calls Get and checks the value.
func get(t *testing.T, c cache.Cache, key string, life cache.Lifetime, fill cache.Fill, want string) cache.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	e, err := c.Get(ctx, key, life, fill)
	if err != nil {
		t.Fatalf("Get(%q): %v", key, err)
	}
	if string(e.Value) != want {
		t.Fatalf("Get(%q) = %.40q, want %.40q", key, e.Value, want)
	}
	return e
}

// put fills keys with their own names.
func put(t *testing.T, c cache.Cache, keys ...string) {
	t.Helper()
	for _, key := range keys {
		get(t, c, key, long(), newSource("value of "+key).fill, "value of "+key)
	}
}

// forbidden is a fill that must not run.
func forbidden(t *testing.T) cache.Fill {
	return func(context.Context) ([]byte, error) {
		t.Error("a fill ran though the entry is stored")
		return nil, errFill
	}
}

// eventually waits until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// pattern parses a pattern that must be valid.
func pattern(t *testing.T, text string) cache.Pattern {
	t.Helper()
	p, err := cache.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// oddKeys are keys that a careless driver would mix up.
func oddKeys() []string {
	return []string{
		"content:locale:en", "content:locale:*", "[content]", `back\slash`, "{tag}", "}{", "a{b}c", "with space", "line\nbreak",
		"nul\x00byte", "ș ț ¿ €", "*", "?", "^", "e:{0000}content:locale:en", "l:content", strings.Repeat("long", 2000), "\xff\xfe",
	}
}
