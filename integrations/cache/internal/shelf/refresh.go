package shelf

import (
	"context"
	"errors"
	"time"
)

// busyPause is how long a record rests that somebody else refreshes.
const busyPause = 100 * time.Millisecond

// refresh starts one load of an expired record in the background, unless one runs
// or the last one failed a short while ago.
func (s *Shelf) refresh(ctx context.Context, key string, r *Record, load Load) {
	if r.refreshing.Load() || s.now() < time.Duration(r.retryAt.Load()) {
		return
	}
	if !r.refreshing.CompareAndSwap(false, true) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// The record may have been replaced or dropped since it was read, and a load that
	// others wait for is as good as a refresh.
	if now, ok := s.entries.GetIfPresent(key); !ok || now != r || s.flights[key] != nil || s.closing.Err() != nil {
		r.refreshing.Store(false)
		return
	}
	s.start(ctx, key, r, load)
}

// postpone lets the record rest after a refresh that replaced nothing, twice as long
// after each further failure.
func (s *Shelf) postpone(r *Record, err error) {
	pause := busyPause
	if err != nil && !errors.Is(err, ErrBusy) {
		n := r.failures.Add(1)
		pause = min(s.retryAfter<<min(n-1, 16), s.retryMax)
	}
	r.retryAt.Store(int64(s.now() + pause))
	r.refreshing.Store(false)
}
