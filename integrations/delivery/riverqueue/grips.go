package riverqueue

import (
	"sync"

	"github.com/riverqueue/river/rivertype"
)

// grips are the tries that this process has begun and whose end may not be in the
// database yet: River writes it down a little later, and much later if the database is
// away. However old such a try looks, by whatever clock, it is not stranded.
type grips struct {
	mu   sync.Mutex
	held map[int64]grip
}

type grip struct {
	attempt int
	active  bool // the try is going on
}

// begin notes the begin of a try and returns how to note its end.
func (g *grips) begin(row *rivertype.JobRow) (end func()) {
	set := func(active bool) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.held == nil {
			g.held = map[int64]grip{}
		}
		g.held[row.ID] = grip{row.Attempt, active}
	}
	set(true)
	return func() { set(false) }
}

// hold reports whether a running job's try is ours to end.
func (g *grips) hold(row *rivertype.JobRow) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	held, ok := g.held[row.ID]
	return ok && held.attempt == row.Attempt
}

// prune forgets the tries whose end is written down, given all running jobs.
func (g *grips) prune(running []*rivertype.JobRow) {
	still := make(map[int64]bool, len(running))
	for _, row := range running {
		still[row.ID] = true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, held := range g.held {
		if !held.active && !still[id] {
			delete(g.held, id)
		}
	}
}
