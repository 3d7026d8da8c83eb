package shelf

import (
	"math"
	"sync/atomic"
	"time"

	"siteapi/integrations/cache"
)

// Forever is the time of a change that never comes.
const Forever = time.Duration(math.MaxInt64)

// Record is an entry with the times at which its use changes. Entry and times never
// change once the record is on a shelf.
type Record struct {
	Entry cache.Entry
	// FreshUntil and StaleUntil are times of the shelf's clock.
	FreshUntil time.Duration
	StaleUntil time.Duration

	refreshing atomic.Bool  // a refresh runs or is about to
	retryAt    atomic.Int64 // shelf's time before which no refresh is tried
	failures   atomic.Int32 // refreshes that failed in a row
}

// NewRecord returns a record of a value that a fill brought just now.
func (s *Shelf) NewRecord(e cache.Entry, life cache.Lifetime) *Record {
	r := &Record{Entry: e, FreshUntil: Forever, StaleUntil: Forever}
	if life.Fresh > 0 {
		now := s.now()
		r.FreshUntil = now + life.Fresh
		r.StaleUntil = r.FreshUntil + max(life.Stale, 0)
	}
	return r
}

// NewRecordFor is NewRecord for an entry that somebody else filled and of which less
// time is left; freshLeft may be negative.
func (s *Shelf) NewRecordFor(e cache.Entry, freshLeft, staleLeft time.Duration) *Record {
	now := s.now()
	return &Record{Entry: e, FreshUntil: now + freshLeft, StaleUntil: now + staleLeft}
}

// Fresh reports whether the record is served without question. A record that never
// expires doesn't cost a look at the clock.
func (s *Shelf) Fresh(r *Record) bool {
	return r.FreshUntil == Forever || s.now() < r.FreshUntil
}

// usable reports whether the record may be served at all.
func (s *Shelf) usable(r *Record) bool {
	return r.StaleUntil == Forever || s.now() < r.StaleUntil
}

// overhead is about what an entry costs beside its key and value: the record, the
// revision and the nodes of the library that keeps it, in bytes.
const overhead = 320

// weight is what a record costs of the shelf's room, in bytes.
func weight(key string, r *Record) uint32 {
	return uint32(min(len(key)+len(r.Entry.Value)+overhead, math.MaxUint32))
}
