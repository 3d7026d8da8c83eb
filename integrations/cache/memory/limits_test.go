package memory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
)

// clock is a clock that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// reports collects what a cache tells of its fills.
type reports chan cache.FillReport

func (r reports) next(t *testing.T) cache.FillReport {
	t.Helper()
	select {
	case report := <-r:
		return report
	case <-time.After(5 * time.Second):
		t.Fatal("no fill was reported")
		return cache.FillReport{}
	}
}

func with(t *testing.T, o memory.Options) *memory.Cache {
	t.Helper()
	c, err := memory.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestRoomIsBounded(t *testing.T) {
	t.Parallel()
	c := with(t, memory.Options{MaxBytes: 1 << 20})
	for i := range 2000 {
		if _, err := c.Get(t.Context(), fmt.Sprint("k", i), cache.Lifetime{}, content); err != nil {
			t.Fatal(err)
		}
	}
	// 4 KiB each; what is over is evicted in the background.
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		n := c.Stats(t.Context()).Size
		if n > 0 && n <= 1<<20/4096 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d entries of 4 KiB in a room of 1 MiB", n)
		}
	}
	huge := func(context.Context) ([]byte, error) { return make([]byte, 2<<20), nil }
	if e, err := c.Get(t.Context(), "huge", cache.Lifetime{}, huge); err != nil || len(e.Value) != 2<<20 {
		t.Errorf("an entry greater than the room: %d bytes, %v", len(e.Value), err)
	}
}

func TestFillTimeout(t *testing.T) {
	t.Parallel()
	c := with(t, memory.Options{FillTimeout: 20 * time.Millisecond})
	hang := func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
	if _, err := c.Get(t.Context(), "k", cache.Lifetime{}, hang); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a fill that hangs: %v", err)
	}
}

// TestRefreshesBackOff follows one entry over a source that stays away.
func TestRefreshesBackOff(t *testing.T) {
	t.Parallel()
	now := &clock{now: time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)}
	told := make(reports, 100)
	c := with(t, memory.Options{Clock: now.Now, OnFill: func(r cache.FillReport) { told <- r }})
	life := cache.Lifetime{Fresh: time.Minute, Stale: time.Hour}
	e, err := c.Get(t.Context(), "k", life, content)
	if err != nil || !e.StoredAt.Equal(now.Now()) {
		t.Fatalf("stored at %v, %v", e.StoredAt, err)
	}
	if r := told.next(t); r.Key != "k" || r.Refresh || r.Err != nil {
		t.Errorf("first fill: %+v", r)
	}
	away := errors.New("away")
	fail := func(context.Context) ([]byte, error) { return nil, away }
	now.advance(time.Minute)
	for _, pause := range []int{1, 2, 4, 8, 16, 30, 30} {
		if _, err := c.Get(t.Context(), "k", life, fail); err != nil {
			t.Fatal(err)
		}
		if r := told.next(t); !r.Refresh || !errors.Is(r.Err, away) {
			t.Errorf("refresh: %+v", r)
		}
		// Just before the pause is over nothing is tried. The pause begins an instant after
		// the report, so the flight is given time to land.
		time.Sleep(20 * time.Millisecond)
		now.advance(time.Duration(pause)*time.Second - 1)
		if _, err := c.Get(t.Context(), "k", life, fail); err != nil {
			t.Fatal(err)
		}
		select {
		case r := <-told:
			t.Fatalf("tried again before %d s were over: %+v", pause, r)
		case <-time.After(20 * time.Millisecond):
		}
		now.advance(1)
	}
	now.advance(2 * time.Hour)
	if _, err := c.Get(t.Context(), "k", life, fail); !errors.Is(err, away) {
		t.Errorf("past its time: %v", err)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	c := with(t, memory.Options{})
	began := make(chan struct{})
	hang := func(ctx context.Context) ([]byte, error) { close(began); <-ctx.Done(); return nil, ctx.Err() }
	done := make(chan error, 1)
	go func() {
		_, err := c.Get(context.Background(), "k", cache.Lifetime{}, hang)
		done <- err
	}()
	<-began
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the fill under way: %v", err)
	}
	if n := c.Stats(t.Context()).Size; n != 0 {
		t.Errorf("size %d after Close", n)
	}
}

// Peek is on the path of every cached answer.
func TestPeekDoesNotAllocate(t *testing.T) {
	c := with(t, memory.Options{})
	if _, err := c.Get(t.Context(), "k", cache.Lifetime{Fresh: time.Hour}, content); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if n := testing.AllocsPerRun(1000, func() { c.Peek(ctx, "k") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	life := cache.Lifetime{Fresh: time.Hour}
	if n := testing.AllocsPerRun(1000, func() { _, _ = c.Get(ctx, "k", life, content) }); n != 0 {
		t.Errorf("%v allocations of a hot Get", n)
	}
}
