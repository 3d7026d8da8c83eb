package sqlstore_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// ledger is a database that stores numbers, a batch at a time, when it is let.
type ledger struct {
	hold   chan struct{} // nil: commits don't wait; else each takes one value
	begun  chan struct{} // gets one value per commit
	poison func(n int) error

	mu      sync.Mutex
	batches [][]int
}

func (l *ledger) commit(_ context.Context, numbers []int) error {
	l.begun <- struct{}{}
	if l.hold != nil {
		<-l.hold
	}
	if l.poison != nil {
		for _, n := range numbers {
			if err := l.poison(n); err != nil {
				return err
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches = append(l.batches, slices.Clone(numbers))
	return nil
}

func (l *ledger) stored() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Concat(l.batches...)
	slices.Sort(all)
	return all
}

func newGroup(l *ledger, limits sqlstore.Limits) *sqlstore.Group[int] {
	l.begun = make(chan struct{}, 1000)
	return sqlstore.NewGroup(context.Background(), limits, l.commit)
}

// queued starts a request for each number and returns when all of them wait.
func queued(t *testing.T, g *sqlstore.Group[int], numbers []int) (answers func() map[int]error) {
	t.Helper()
	var mu sync.Mutex
	got := map[int]error{}
	var wg sync.WaitGroup
	for i, n := range numbers {
		wg.Go(func() {
			err := g.Do(t.Context(), n)
			mu.Lock()
			defer mu.Unlock()
			got[n] = err
		})
		for g.Waiting() < i+1 {
			time.Sleep(50 * time.Microsecond)
		}
	}
	return func() map[int]error {
		wg.Wait()
		return got
	}
}

// occupy makes the group's only lane busy with the number 0.
func occupy(t *testing.T, g *sqlstore.Group[int], l *ledger) {
	t.Helper()
	go func() { _ = g.Do(context.Background(), 0) }()
	<-l.begun
}

func upTo(n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, i+1)
	}
	return numbers
}

// What waits together is committed together, in its order, up to the limit.
func TestGroupBatches(t *testing.T) {
	t.Parallel()
	l := &ledger{hold: make(chan struct{}, 100)}
	g := newGroup(l, sqlstore.Limits{Batch: 8, Queue: 100, Lanes: 1})
	occupy(t, g, l)
	answers := queued(t, g, upTo(20))
	for range 10 {
		l.hold <- struct{}{}
	}
	for n, err := range answers() {
		if err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
	g.Close()
	want := [][]int{{0}, {1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, 15, 16}, {17, 18, 19, 20}}
	if !slices.EqualFunc(l.batches, want, slices.Equal) {
		t.Errorf("the batches are %v, want %v", l.batches, want)
	}
}

// A bad request fails alone; trouble of the database concerns all, once.
func TestGroupFailures(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		poison      func(n int) error
		wantStored  int
		wantCommits int
	}{
		"one bad request": {func(n int) error {
			if n == 7 {
				return bad
			}
			return nil
		}, 15, 9}, // 16 8 4 2 1 for the path to it, and the other half of each
		"all bad": {func(int) error { return bad }, 0, 31},
		"away":    {func(int) error { return store.ErrUnavailable }, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &ledger{hold: make(chan struct{}, 100)}
			g := newGroup(l, sqlstore.Limits{Batch: 16, Queue: 100, Lanes: 1})
			occupy(t, g, l)
			answers := queued(t, g, upTo(16))
			l.poison = c.poison // the lane reads it after it has been let on
			close(l.hold)
			var refused int
			for n, err := range answers() {
				if (err != nil) != (c.poison(n) != nil) {
					t.Errorf("%d: %v", n, err)
				}
				if err != nil {
					refused++
				}
			}
			g.Close()
			if refused != 16-c.wantStored {
				t.Errorf("%d were refused, want %d", refused, 16-c.wantStored)
			}
			if got := len(l.begun); got != c.wantCommits {
				t.Errorf("%d commits were tried, want %d", got, c.wantCommits)
			}
		})
	}
}

// A request that ends while it waits is not carried out; one that ends while it is
// being carried out is told the outcome.
func TestGroupEndedRequests(t *testing.T) {
	t.Parallel()
	l := &ledger{hold: make(chan struct{}, 100)}
	g := newGroup(l, sqlstore.Limits{Batch: 8, Queue: 100, Lanes: 1})

	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan error, 1)
	go func() { begun <- g.Do(ctx, 1) }()
	<-l.begun
	waiting := make(chan error, 1)
	go func() { waiting <- g.Do(ctx, 2) }()
	for g.Waiting() == 0 {
		time.Sleep(50 * time.Microsecond)
	}
	cancel()
	if err := <-waiting; !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("the one that waits is told %v", err)
	}
	select {
	case err := <-begun:
		t.Errorf("the one that has begun is told %v before its outcome is known", err)
	case <-time.After(20 * time.Millisecond):
	}
	l.hold <- struct{}{}
	if err := <-begun; err != nil {
		t.Errorf("the one that has begun is told %v", err)
	}
	close(l.hold)
	g.Close()
	if got := l.stored(); !slices.Equal(got, []int{1}) {
		t.Errorf("stored %v, want 1 alone", got)
	}
}

// One more than may wait is refused at once; those who wait are served.
func TestGroupOverload(t *testing.T) {
	t.Parallel()
	l := &ledger{hold: make(chan struct{}, 100)}
	g := newGroup(l, sqlstore.Limits{Batch: 4, Queue: 10, Lanes: 1})
	occupy(t, g, l)
	answers := queued(t, g, upTo(10))
	if err := g.Do(t.Context(), 99); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("one too many is told %v", err)
	}
	close(l.hold)
	for n, err := range answers() {
		if err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
	if err := g.Do(t.Context(), 100); err != nil {
		t.Errorf("after the rush: %v", err)
	}
	g.Close()
	if got, want := l.stored(), append(append([]int{0}, upTo(10)...), 100); !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
}

// Closing serves those who wait, refuses the rest and ends all lanes.
func TestGroupClose(t *testing.T) {
	t.Parallel()
	for _, lanes := range []int{1, 3} {
		l := &ledger{hold: make(chan struct{}, 100)}
		g := newGroup(l, sqlstore.Limits{Batch: 1, Queue: 100, Lanes: lanes})
		for range lanes {
			occupy(t, g, l)
		}
		answers := queued(t, g, upTo(20))
		closed := make(chan struct{})
		go func() { g.Close(); close(closed) }()
		for refused := false; !refused; { // until the closing has begun
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			err := g.Do(ctx, 99)
			refused = !errors.Is(err, context.DeadlineExceeded)
			if err == nil {
				t.Error("a request was served although nothing is let on")
			}
			cancel()
		}
		close(l.hold)
		<-closed
		for n, err := range answers() {
			if err != nil {
				t.Errorf("%d lanes, %d: %v", lanes, n, err)
			}
		}
		if err := g.Do(t.Context(), 100); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("after the end: %v", err)
		}
		if got := len(l.stored()); got != 20+lanes {
			t.Errorf("%d lanes stored %d numbers, want %d", lanes, got, 20+lanes)
		}
	}
}

// Many clients on several lanes: each is answered once and stored once.
func TestGroupUnderLoad(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	l.begun = make(chan struct{}, 100_000)
	g := sqlstore.NewGroup(context.Background(), sqlstore.Limits{Batch: 16, Queue: 1000, Lanes: 3}, l.commit)
	var wg sync.WaitGroup
	for c := range 50 {
		wg.Go(func() {
			for i := range 100 {
				if err := g.Do(t.Context(), c*100+i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	g.Close()
	got := l.stored()
	for i, n := range got {
		if i != n {
			t.Fatalf("number %d is missing or there twice", i)
		}
	}
	if len(got) != 5000 {
		t.Errorf("%d numbers, want 5000", len(got))
	}
}
