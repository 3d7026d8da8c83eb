package shelf

import (
	"context"
	"errors"
	"runtime/debug"

	"siteapi/integrations/cache"
)

// ErrBusy is what a load of a refresh returns when somebody else refreshes already.
// It doesn't count as a failure.
var ErrBusy = errors.New("being refreshed elsewhere")

// Load makes the record of a flight. A record with a nil error is put on the shelf
// unless the flight was dropped meanwhile.
type Load func(ctx context.Context, f *Flight) (*Record, error)

// Flight is one load under way and all who wait for it. It is in the shelf's table
// of flights as long as it may answer those who come later; a drop of its key takes
// it out, and then neither does anybody join it nor is its record kept.
type Flight struct {
	key   string
	stale *Record       // what is served meanwhile; nil where the load isn't a refresh
	done  chan struct{} // closed when record and err are set

	record *Record
	err    error
	forget bool // the record only answers those who wait
}

// Refresh reports whether the old value is served while the flight runs.
func (f *Flight) Refresh() bool { return f.stale != nil }

// Forget makes the record of the flight answer those who wait and nothing more. Only
// the load may call it.
func (f *Flight) Forget() { f.forget = true }

// Reread tells the shelf that what the load returns in the end is read from now on.
// So the record may be kept even though the flight was dropped before; a drop after
// it still prevents that. Nobody joins a dropped flight because of it.
func (s *Shelf) Reread(f *Flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers[f.key] = f
}

// Dropped reports whether what the load returns would not be kept any more.
func (s *Shelf) Dropped(f *Flight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flights[f.key] != f && s.readers[f.key] != f
}

// wait returns the outcome of the flight or the end of ctx.
func (f *Flight) wait(ctx context.Context) (*Record, error) {
	select {
	case <-f.done:
		return f.record, f.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// start puts a flight into the table and runs its load, detached from the request
// that caused it. The caller holds the lock.
func (s *Shelf) start(ctx context.Context, key string, stale *Record, load Load) *Flight {
	f := &Flight{key: key, stale: stale, done: make(chan struct{})}
	s.flights[key] = f
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.fillTimeout)
	stop := context.AfterFunc(s.closing, cancel)
	go func() {
		defer cancel()
		defer stop()
		s.run(ctx, f, load)
	}()
	return f
}

// run loads and lands: however the load ends, panic and Goexit included, the flight
// leaves the table and those who wait get an answer.
func (s *Shelf) run(ctx context.Context, f *Flight, load Load) {
	f.err = errors.New("filling the cache: the fill ended its goroutine")
	defer func() {
		if p := recover(); p != nil {
			f.record, f.err = nil, &cache.PanicError{Value: p, Stack: debug.Stack()}
		}
		s.land(f)
	}()
	f.record, f.err = load(ctx, f)
}

// land keeps the record of a flight that is still in the table. Table and shelf
// change under one lock: a drop comes either before and has taken the flight out, or
// after and finds the record.
func (s *Shelf) land(f *Flight) {
	s.mu.Lock()
	joinable, reread := s.flights[f.key] == f, s.readers[f.key] == f
	if joinable {
		delete(s.flights, f.key)
	}
	if reread {
		delete(s.readers, f.key)
	}
	kept := (joinable || reread) && f.err == nil && !f.forget && s.closing.Err() == nil
	if kept {
		s.entries.Set(f.key, f.record)
	}
	s.mu.Unlock()
	if f.stale != nil && !kept {
		s.postpone(f.stale, f.err)
	}
	close(f.done)
}
