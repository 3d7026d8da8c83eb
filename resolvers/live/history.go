package live

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"siteapi/integrations/store"
)

// kept is how many changes are kept for pages that connect again.
const kept = 1000

// maxMissing bounds the numbers that are asked for again: the oldest are given up.
const maxMissing = 200

// history is the newest changes in the order in which they were read, which is not that of
// their numbers where a transaction was committed late.
type history struct {
	mu      sync.Mutex
	rows    []store.LeadChange
	dropped int                 // number of rows that were removed from the front
	last    int64               // greatest number that was read
	missing map[int64]time.Time // smaller numbers that were not read, and when they are given up
	grown   chan struct{}       // closed when rows are added
}

// newHistory returns a history of the newest changes.
func newHistory(newest []store.LeadChange, now time.Time) *history {
	h := &history{missing: map[int64]time.Time{}, grown: make(chan struct{})}
	if len(newest) > 0 {
		h.last = newest[0].Seq - 1
		h.add(newest, now)
	}

	// What is missing before an old change will not appear.
	for _, change := range slices.Backward(newest) {
		if now.Sub(change.At) > 4*store.UnseenFor {
			h.giveUp(func(n int64, _ time.Time) bool { return n < change.Seq })
			break
		}
	}
	return h
}

// add adds changes in the order of their numbers, and reports whether some are new.
func (h *history) add(changes []store.LeadChange, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()

	before := len(h.rows)
	for _, change := range changes {
		_, late := h.missing[change.Seq]
		if change.Seq <= h.last && !late {
			continue
		}
		delete(h.missing, change.Seq)
		for n := max(h.last+1, change.Seq-maxMissing); n < change.Seq; n++ {
			h.missing[n] = now.Add(store.UnseenFor)
		}
		h.last = max(h.last, change.Seq)
		h.rows = append(h.rows, change)
	}
	h.giveUp(func(n int64, until time.Time) bool { return now.After(until) || n < h.last-10*maxMissing })
	if len(h.rows) == before {
		return
	}

	if excess := len(h.rows) - kept; excess > 0 {
		h.rows = slices.Delete(h.rows, 0, excess)
		h.dropped += excess
	}
	close(h.grown)
	h.grown = make(chan struct{})
}

func (h *history) giveUp(which func(n int64, until time.Time) bool) {
	for n, until := range h.missing {
		if which(n, until) {
			delete(h.missing, n)
		}
	}
}

// next returns the number after which changes have not been read, and those before it that
// may still appear.
func (h *history) next() (after int64, missing []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range h.missing {
		missing = append(missing, n)
	}
	return h.last, missing
}

// since returns the changes from an index on, the index of the next one, and the position
// behind them. It returns false if the first of them is not kept any more.
func (h *history) since(index int) (changes []store.LeadChange, next int, at string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next = h.dropped + len(h.rows)
	if index < h.dropped {
		return nil, next, h.position(), false
	}
	return slices.Clone(h.rows[index-h.dropped:]), next, h.position(), true
}

// after returns what since returns, for the changes behind a position. It returns false if
// the position is not one of the changes that are kept.
func (h *history) after(position string) (changes []store.LeadChange, next int, at string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next = h.dropped + len(h.rows)
	place := slices.IndexFunc(h.rows, func(c store.LeadChange) bool { return positionOf(c) == position })
	if place < 0 {
		return nil, next, h.position(), false
	}

	for _, change := range h.rows {
		if change.Seq > h.rows[place].Seq {
			changes = append(changes, change)
		}
	}
	return changes, next, h.position(), true
}

// position returns the position of the newest change before which none is missing.
func (h *history) position() string {
	complete := h.last
	for n := range h.missing {
		complete = min(complete, n-1)
	}

	var newest store.LeadChange
	for _, change := range h.rows {
		if change.Seq <= complete && change.Seq > newest.Seq {
			newest = change
		}
	}
	return positionOf(newest)
}

// positionOf names a change. The time tells it from the change that has its number in a
// database that was restored.
func positionOf(c store.LeadChange) string { return fmt.Sprintf("%d.%d", c.Seq, c.At.UnixMilli()) }

// more returns a channel that is closed when there are changes from an index on.
func (h *history) more(index int) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index < h.dropped+len(h.rows) {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return h.grown
}
