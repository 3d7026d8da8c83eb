package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"siteapi/integrations/store"
)

// Group lets requests that arrive at the same time share one transaction. Each is
// answered only after the transaction that holds its data has been committed.
//
// There is no waiting for company: a batch is whatever arrived while the one before
// it was being committed, so a lone request pays for no one else.
type Group[T any] struct {
	commit   func(context.Context, []T) error
	maxBatch int
	maxQueue int

	mu     sync.Mutex
	queue  []*ticket[T]
	closed bool
	wake   chan struct{}  // holds one signal that the queue is not empty
	ended  chan struct{}  // closed when the last lane has ended
	lanes  sync.WaitGroup // running lanes
	pool   sync.Pool      // of *ticket[T]
}

// ticket is a request in the queue. Exactly one side moves state on from waiting: a
// lane that takes it, or the caller who gives up.
type ticket[T any] struct {
	op    T
	state atomic.Int32
	done  chan error
}

const (
	waiting int32 = iota
	taken
	abandoned
)

// Limits bound a group.
type Limits struct {
	Batch int // most requests in one transaction
	Queue int // most requests waiting; one more is refused
	Lanes int // transactions under way at once
}

// NewGroup starts a group that hands batches to commit, which stores all of a batch
// or nothing. ctx is what commit gets; it should outlive the requests.
func NewGroup[T any](ctx context.Context, l Limits, commit func(context.Context, []T) error) *Group[T] {
	g := &Group[T]{
		commit: commit, maxBatch: l.Batch, maxQueue: l.Queue,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	g.pool.New = func() any { return &ticket[T]{done: make(chan error, 1)} }
	for range l.Lanes {
		g.lanes.Go(func() { g.work(ctx) })
	}
	go func() {
		g.lanes.Wait()
		close(g.ended)
	}()
	return g
}

// Do waits until op has been committed and returns what came of it. If ctx ends
// before op's turn comes, op is not carried out; once it has begun, Do waits for the
// outcome, so that the answer is the truth.
func (g *Group[T]) Do(ctx context.Context, op T) error {
	if err := ctx.Err(); err != nil {
		return unstored(err)
	}
	t := g.pool.Get().(*ticket[T])
	t.op = op
	t.state.Store(waiting)
	if err := g.push(t); err != nil {
		return err
	}
	select {
	case err := <-t.done:
		g.release(t)
		return err
	case <-ctx.Done():
	}
	if t.state.CompareAndSwap(waiting, abandoned) {
		return unstored(ctx.Err()) // the lane that finds t drops it
	}
	err := <-t.done
	g.release(t)
	return err
}

// Waiting returns the number of requests whose turn has not come.
func (g *Group[T]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue)
}

// Close refuses new requests, lets those waiting be committed and returns when all
// have been answered.
func (g *Group[T]) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.signal()
	<-g.ended
}

func (g *Group[T]) push(t *ticket[T]) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("%w: it is being closed", store.ErrUnavailable)
	}
	if len(g.queue) >= g.maxQueue {
		return fmt.Errorf("%w: too many requests are waiting", store.ErrUnavailable)
	}
	g.queue = append(g.queue, t)
	if len(g.queue) == 1 {
		g.signal()
	}
	return nil
}

func (g *Group[T]) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *Group[T]) release(t *ticket[T]) {
	var zero T
	t.op = zero
	g.pool.Put(t)
}

// work is one lane: it commits batch after batch until the group is closed.
func (g *Group[T]) work(ctx context.Context) {
	var batch []*ticket[T]
	var ops []T
	for range g.wake {
		for {
			var more bool
			batch, more = g.take(batch[:0])
			if len(batch) > 0 {
				ops = g.settle(ctx, batch, ops[:0])
			}
			if !more {
				break
			}
		}
		if g.drained() {
			g.signal() // the next lane ends as well
			return
		}
	}
}

// take moves the head of the queue into batch and reports whether something was there.
func (g *Group[T]) take(batch []*ticket[T]) ([]*ticket[T], bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.queue), g.maxBatch)
	for _, t := range g.queue[:n] {
		if t.state.CompareAndSwap(waiting, taken) {
			batch = append(batch, t)
		}
	}
	rest := copy(g.queue, g.queue[n:])
	clear(g.queue[rest:])
	g.queue = g.queue[:rest]
	if rest > 0 {
		g.signal() // another lane may take them meanwhile
	}
	return batch, n > 0
}

func (g *Group[T]) drained() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed && len(g.queue) == 0
}

// settle commits a batch and answers each of its tickets. When the batch fails for
// a reason that may lie in one of its requests, its halves are tried on their own, so
// that one bad request fails alone.
func (g *Group[T]) settle(ctx context.Context, batch []*ticket[T], ops []T) []T {
	for _, t := range batch {
		ops = append(ops, t.op)
	}
	err := g.commit(ctx, ops)
	if err != nil && len(batch) > 1 && !errors.Is(err, store.ErrUnavailable) {
		half := len(batch) / 2
		ops = g.settle(ctx, batch[:half], ops[:0])
		return g.settle(ctx, batch[half:], ops[:0])
	}
	for _, t := range batch {
		t.done <- err
	}
	return ops
}

// unstored is the error of a request that ended before its turn came.
func unstored(err error) error {
	return fmt.Errorf("%w: the request ended while it waited: %w", store.ErrUnavailable, err)
}
