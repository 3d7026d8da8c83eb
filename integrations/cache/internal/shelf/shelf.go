// Package shelf is the in-process half of every cache driver: a bounded number of
// decoded entries and the table of loads under way. What a load does is the
// driver's business; that there is one of them per key, that it is detached from
// whoever caused it, that a refresh runs behind the old value's back, and that a
// drop and the end of a load never cross, is decided here.
//
// The library that keeps the entries, otter, loads and refreshes by itself too. Its
// Invalidate cancels the storing of a load under way, but it says for InvalidateAll
// that the outcome is undefined, and someone who comes after an invalidation may
// still join a load that began before it. So loads are counted here, and otter does
// what it does best: concurrent reads and a good choice of what to evict.
package shelf

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"siteapi/integrations/cache"
)

// Options of a shelf. Zero fields have the stated defaults.
type Options struct {
	MaxBytes    int64            // room for keys and values; 64 MiB
	FillTimeout time.Duration    // of one load; 10 s
	RetryAfter  time.Duration    // pause after the first failed refresh; 1 s
	RetryMax    time.Duration    // longest pause between refreshes; 30 s
	Clock       func() time.Time // for tests; the monotonic clock
}

// Shelf holds entries and the loads under way. Create it with New.
type Shelf struct {
	entries     *otter.Cache[string, *Record]
	fillTimeout time.Duration
	retryAfter  time.Duration
	retryMax    time.Duration
	now         func() time.Duration // since the shelf was made

	closing context.Context
	close   context.CancelFunc

	mu      sync.Mutex         // guards the tables, and every write to entries that a drop could cross
	flights map[string]*Flight // may be joined
	readers map[string]*Flight // read again after they were dropped; see Reread
}

// New returns an empty shelf.
func New(o Options) (*Shelf, error) {
	entries, err := otter.New(&otter.Options[string, *Record]{
		MaximumWeight: uint64(orDefault(o.MaxBytes, 64<<20)),
		Weigher:       weight,
	})
	if err != nil {
		return nil, fmt.Errorf("making room for the cache: %w", err)
	}
	s := &Shelf{
		entries:     entries,
		fillTimeout: orDefault(o.FillTimeout, 10*time.Second),
		retryAfter:  orDefault(o.RetryAfter, time.Second),
		retryMax:    orDefault(o.RetryMax, 30*time.Second),
		now:         stopwatch(o.Clock),
		flights:     map[string]*Flight{},
		readers:     map[string]*Flight{},
	}
	s.closing, s.close = context.WithCancel(context.Background())
	return s, nil
}

// stopwatch returns the time since now. Without a clock to ask it reads the monotonic
// one only, which takes half the time of the full one on the hottest path.
func stopwatch(clock func() time.Time) func() time.Duration {
	if clock == nil {
		begin := time.Now()
		return func() time.Duration { return time.Since(begin) }
	}
	begin := clock()
	return func() time.Duration { return clock().Sub(begin) }
}

func orDefault[T int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// Peek returns the entry under key if it is fresh. It doesn't allocate.
func (s *Shelf) Peek(key string) (cache.Entry, bool) {
	r, ok := s.entries.GetIfPresent(key)
	if !ok || !s.Fresh(r) {
		return cache.Entry{}, false
	}
	return r.Entry, true
}

// Get returns the entry under key, loading it if there is none and refreshing it in
// the background if it expired.
func (s *Shelf) Get(ctx context.Context, key string, load Load) (cache.Entry, error) {
	r, err := s.record(ctx, key, load)
	if err != nil {
		return cache.Entry{}, err
	}
	if !s.Fresh(r) {
		s.refresh(ctx, key, r, load)
	}
	return r.Entry, nil
}

// record returns what is on the shelf, else joins the flight of key or starts it.
func (s *Shelf) record(ctx context.Context, key string, load Load) (*Record, error) {
	if r, ok := s.entries.GetIfPresent(key); ok && s.usable(r) {
		return r, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	// A flight may have landed between the look at the shelf and the lock.
	if r, ok := s.entries.GetIfPresent(key); ok && s.usable(r) {
		s.mu.Unlock()
		return r, nil
	}
	f := s.flights[key]
	if f == nil {
		f = s.start(ctx, key, nil, load)
	}
	s.mu.Unlock()
	return f.wait(ctx)
}

// Close ends the loads under way. Later loads still answer, but nothing is kept.
func (s *Shelf) Close() {
	s.close()
	s.DropAll()
	s.entries.StopAllGoroutines()
}
