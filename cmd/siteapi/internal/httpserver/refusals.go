package httpserver

import (
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// refusals bounds the log of requests that were refused because there were too many, which
// a client could fill a disk with. Of one client, the first is logged as it is, and those
// that follow are logged once a second with their number.
type refusals struct {
	log    zerolog.Logger
	mu     sync.Mutex
	counts map[string]int // refusals of each client since the last time they were logged
}

// first reports whether a refusal is the first one of a client. Otherwise it is counted.
func (f *refusals) first(client string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	n, known := f.counts[client]
	if known {
		f.counts[client] = n + 1
		return false
	}

	f.counts[client] = 0
	time.AfterFunc(time.Second, func() { f.flush(client) })
	return true
}

// flush logs the number of a client's refusals in the last second, and forgets the client
// if there were none. It does not name the client.
func (f *refusals) flush(client string) {
	f.mu.Lock()
	defer f.mu.Unlock()

	n := f.counts[client]
	if n == 0 {
		delete(f.counts, client)
		return
	}

	f.counts[client] = 0
	f.log.Info().Int("count", n).Msg("more requests of one client refused")
	time.AfterFunc(time.Second, func() { f.flush(client) })
}
