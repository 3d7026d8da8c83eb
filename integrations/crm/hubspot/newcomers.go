package hubspot

import (
	"sync"
	"time"
)

// newFor is how long HubSpot may go on calling a property unknown that it says exists,
// before that counts as a gap: it takes a moment until a new one is known everywhere.
const newFor = time.Minute

// newcomers remembers the properties that exist and were called unknown all the same,
// and since when. The zero value is ready.
type newcomers struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// met notes a property that exists. One that was created just now begins anew.
func (n *newcomers) met(name string, created bool, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.since == nil {
		n.since = map[string]time.Time{}
	}
	if _, known := n.since[name]; created || !known {
		n.since[name] = now
	}
}

// fresh reports whether a property may become known yet.
func (n *newcomers) fresh(name string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return now.Sub(n.since[name]) < newFor
}

// settled forgets a property that was taken.
func (n *newcomers) settled(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.since, name)
}
