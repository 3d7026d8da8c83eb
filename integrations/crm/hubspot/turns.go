package hubspot

import (
	"context"
	"sync"
)

// turns lets those who want the same address go one after the other. The zero value
// is ready.
type turns struct {
	mu    sync.Mutex
	turns map[string]*turn
}

// turn is the queue for one address.
type turn struct {
	held  chan struct{} // has room for one: whoever put something in has the turn
	users int           // holding it or waiting for it
}

// take waits for the turn of an address, or returns the context's error.
func (t *turns) take(ctx context.Context, address string) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	if t.turns == nil {
		t.turns = map[string]*turn{}
	}
	own := t.turns[address]
	if own == nil {
		own = &turn{held: make(chan struct{}, 1)}
		t.turns[address] = own
	}
	own.users++
	t.mu.Unlock()

	select {
	case own.held <- struct{}{}:
		return func() {
			<-own.held
			t.leave(address, own)
		}, nil
	case <-ctx.Done():
		t.leave(address, own)
		return nil, ctx.Err()
	}
}

// leave forgets an address nobody wants any more.
func (t *turns) leave(address string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.turns, address)
	}
}
