// Package live tells pages that are open what changes of leads, from the changes that the
// store records. As long as a page is open, each instance asks for them every half second,
// whoever made them.
package live

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
)

const (
	askEvery = 500 * time.Millisecond

	// resumable is how old the position of a page may be that comes back. An older one
	// loads anew, as one does that missed mostChanges.
	resumable   = time.Hour
	mostChanges = 5_000
)

// Feed is the changes of leads, for as many followers as there are.
type Feed struct {
	Changes store.Changes
	Log     zerolog.Logger

	mu        sync.Mutex
	followers map[*Follower]bool
	stop      context.CancelFunc // ends the reading
}

// Event is what changed since the event before. If Restarted is set, that is not known.
type Event struct {
	Position  string // the place to follow from after a break
	Restarted bool
	Changes   []store.LeadChange // at most one of each lead
}

// Follower gets the events of a feed.
type Follower struct {
	feed *Feed
	more chan struct{} // holds a value if next is not empty
	next Event         // guarded by the mutex of the feed
}

// Follow returns a follower of the changes behind a position, whose first event is ready. It
// must be closed.
func (f *Feed) Follow(ctx context.Context, position string) (*Follower, error) {
	follower := &Follower{feed: f, more: make(chan struct{}, 1)}
	f.add(follower) // what the feed sends meanwhile is in both
	milliseconds, _ := strconv.ParseInt(position, 10, 64)
	at := time.UnixMilli(milliseconds)
	changes, now, err := f.Changes.ChangesSince(ctx, at.Add(-store.ChangeUnseen), mostChanges)
	if err != nil {
		follower.Close()
		return nil, fmt.Errorf("reading what changed: %w", err)
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	if at.After(now) || now.Sub(at) > resumable || len(changes) == mostChanges {
		follower.restart(now)
	} else {
		follower.send(changes, now)
	}
	return follower, nil
}

// add adds a follower. With the first one the reading begins.
func (f *Feed) add(follower *Follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.followers) > 0 {
		f.followers[follower] = true
		return
	}

	ctx, stop := context.WithCancel(context.Background())
	f.followers, f.stop = map[*Follower]bool{follower: true}, stop
	go func() {
		last, sent := time.Now(), map[int64]bool{}
		for tick := time.Tick(askEvery); ; {
			select {
			case <-tick:
				last, sent = f.read(ctx, last, sent)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// Close ends a follower. The last one ends the reading.
func (f *Follower) Close() {
	f.feed.mu.Lock()
	defer f.feed.mu.Unlock()
	if delete(f.feed.followers, f); len(f.feed.followers) == 0 {
		f.feed.stop()
	}
}

// read sends what was not in the last answer. A transaction may have been under way then
// whose changes are older. While the database is away, followers wait.
func (f *Feed) read(
	ctx context.Context, last time.Time, sent map[int64]bool,
) (now time.Time, known map[int64]bool) {
	changes, now, err := f.Changes.ChangesSince(ctx, last.Add(-store.ChangeUnseen), mostChanges)
	if err != nil {
		f.Log.Debug().Err(err).Msg("reading what changed of leads")
		return last, sent
	}

	var fresh []store.LeadChange
	known = map[int64]bool{}
	for _, change := range changes {
		known[change.Seq] = true
		if !sent[change.Seq] {
			fresh = append(fresh, change)
		}
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	for follower := range f.followers {
		switch {
		case len(changes) == mostChanges:
			follower.restart(now)
		case len(fresh) > 0:
			follower.send(fresh, now)
		}
	}
	return now, known
}

// send adds changes to the next event.
func (f *Follower) send(changes []store.LeadChange, now time.Time) {
	f.next.Position = strconv.FormatInt(now.UnixMilli(), 10)
	f.next.Changes = latest(append(f.next.Changes, changes...))
	f.wake()
}

// restart has the page load anew.
func (f *Follower) restart(now time.Time) {
	f.next = Event{Position: strconv.FormatInt(now.UnixMilli(), 10), Restarted: true}
	f.wake()
}

func (f *Follower) wake() {
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// Next waits for the next event, or for the end of ctx.
func (f *Follower) Next(ctx context.Context) (Event, error) {
	select {
	case <-f.more:
	case <-ctx.Done():
		return Event{}, ctx.Err()
	}

	f.feed.mu.Lock()
	defer f.feed.mu.Unlock()
	event := f.next
	f.next = Event{}
	return event, nil
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
