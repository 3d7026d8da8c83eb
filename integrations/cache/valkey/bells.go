package valkey

import "sync"

// bells wake those who wait for another instance's fill.
type bells struct {
	mu    sync.Mutex
	byKey map[string]*bell
}

// bell is rung once.
type bell struct {
	rung    chan struct{}
	waiters int
}

// wait returns a channel that is closed with the next ring for key. Who doesn't wait
// any longer calls leave.
func (b *bells) wait(key string) (rung <-chan struct{}, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.byKey[key]
	if one == nil {
		if b.byKey == nil {
			b.byKey = map[string]*bell{}
		}
		one = &bell{rung: make(chan struct{})}
		b.byKey[key] = one
	}
	one.waiters++
	return one.rung, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if one.waiters--; one.waiters == 0 && b.byKey[key] == one {
			delete(b.byKey, key)
		}
	}
}

// ring wakes those who wait for key.
func (b *bells) ring(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.byKey[key]; one != nil {
		close(one.rung)
		delete(b.byKey, key)
	}
}

// ringAll wakes all who wait.
func (b *bells) ringAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.byKey {
		close(one.rung)
	}
	clear(b.byKey)
}
