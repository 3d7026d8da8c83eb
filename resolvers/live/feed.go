// Package live tells pages that are open what changes of leads, from the changes that the
// store records. Each instance reads them once for all of its pages: when it hears of one,
// and from time to time anyway, as it does not hear of all.
package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
)

const (
	// askEvery, readPause and gathering together leave a tenth of a second for the reading
	// itself: an event comes within a second of a change that nobody told of. What is asked
	// is one look at the end of an index.
	askEvery  = 600 * time.Millisecond
	readPause = 50 * time.Millisecond // least time between two readings
	pageSize  = 500                   // changes that are read at once

	// gathering is how long changes are collected into one event. The queue notes the end of
	// a delivery a moment after the change of its lead, so that a page which asks because of
	// the event finds both.
	gathering = 250 * time.Millisecond
)

// Feed is the changes of leads, for as many followers as there are.
type Feed struct {
	Changes store.Changes
	Log     zerolog.Logger

	mu        sync.Mutex
	followers int
	history   *history           // shared by all followers
	stop      context.CancelFunc // ends the reading
	reading   sync.WaitGroup
}

// Event is what changed since the event before. If Restarted is set, that is not known.
type Event struct {
	Position  string // the place to follow from after a break
	Restarted bool
	Changes   []store.LeadChange // at most one of each lead
}

// Follower gets the events of a feed.
type Follower struct {
	feed    *Feed
	history *history
	first   *Event // nil once it was returned
	next    int    // index of the next change
}

// Follow returns a follower of the changes behind a position, whose first event is ready. It
// must be closed.
func (f *Feed) Follow(ctx context.Context, position string) (*Follower, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followers == 0 {
		newest, err := f.Changes.LastChanges(ctx, kept)
		if err != nil {
			return nil, fmt.Errorf("reading the last changes: %w", err)
		}
		f.start(newHistory(newest, time.Now()))
	}
	f.followers++

	changes, next, at, ok := f.history.after(position)
	return &Follower{
		feed:    f,
		history: f.history,
		next:    next,
		first:   &Event{Position: at, Restarted: !ok, Changes: latest(changes)},
	}, nil
}

// Close ends a follower. The last one ends the reading.
func (f *Follower) Close() {
	f.feed.mu.Lock()
	defer f.feed.mu.Unlock()
	if f.feed.followers--; f.feed.followers == 0 {
		f.feed.stop()
		f.feed.reading.Wait()
	}
}

// Next waits for the next event, or for the end of ctx.
func (f *Follower) Next(ctx context.Context) (Event, error) {
	if first := f.first; first != nil {
		f.first = nil
		return *first, nil
	}

	select {
	case <-f.history.more(f.next):
	case <-ctx.Done():
		return Event{}, ctx.Err()
	}
	select {
	case <-time.After(gathering):
	case <-ctx.Done():
		return Event{}, ctx.Err()
	}

	changes, next, at, ok := f.history.since(f.next)
	f.next = next
	return Event{Position: at, Restarted: !ok, Changes: latest(changes)}, nil
}

// latest leaves one change of each lead: its creation or its erasure, if there was one.
func latest(changes []store.LeadChange) (list []store.LeadChange) {
	indexes := map[string]int{}
	for _, change := range changes {
		i, known := indexes[change.Lead]
		switch {
		case !known:
			indexes[change.Lead] = len(list)
			list = append(list, change)
		case change.Kind != store.LeadChanged:
			list[i].Kind = change.Kind
		}
	}
	return list
}

// start reads changes until stop is called.
func (f *Feed) start(h *history) {
	ctx, stop := context.WithCancel(context.Background())
	heard := make(chan struct{}, 1)
	f.history, f.stop = h, stop

	f.reading.Go(func() {
		f.Changes.ListenForChanges(ctx, func() {
			select {
			case heard <- struct{}{}:
			default:
			}
		})
	})
	f.reading.Go(func() {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			time.Sleep(readPause)
			f.read(ctx, h)
			select {
			case <-heard:
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
}

// read adds what is new. While the database is away, followers wait.
func (f *Feed) read(ctx context.Context, h *history) {
	for ctx.Err() == nil {
		after, missing := h.next()
		changes, err := f.Changes.ChangesAfter(ctx, after, missing, pageSize)
		if err != nil {
			if ctx.Err() == nil {
				f.Log.Debug().Err(err).Msg("reading what changed of leads")
			}
			return
		}

		h.add(changes, time.Now())
		if len(changes) < pageSize {
			return
		}
	}
}
