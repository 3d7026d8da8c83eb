package operators

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

const (
	// listedAgain is how long an operator may read a list again, and further pages of it,
	// without another entry: an open page of the inbox asks anew after each change of a lead.
	listedAgain = 15 * time.Minute

	// maxListings bounds the lists that are remembered. Beyond it they are forgotten, and get
	// another entry.
	maxListings = 10_000
)

// listings are the lists that operators read at this instance, by digests of operator and
// filter. They are not in the database: the audit must not tell what was searched for.
type listings struct {
	mu       sync.Mutex
	recorded map[[sha256.Size]byte]time.Time
}

// has reports whether a list was recorded a short time before now.
func (l *listings) has(key [sha256.Size]byte, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.recorded[key]
	return ok && now.Sub(at).Abs() < listedAgain
}

func (l *listings) add(key [sha256.Size]byte, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.recorded) >= maxListings {
		maps.DeleteFunc(l.recorded, func(_ [sha256.Size]byte, at time.Time) bool {
			return now.Sub(at).Abs() >= listedAgain
		})
	}
	if l.recorded == nil || len(l.recorded) >= maxListings {
		l.recorded = map[[sha256.Size]byte]time.Time{}
	}
	l.recorded[key] = now
}

// recordListed stores that a list was read, unless the same operator read the same list
// shortly before.
func (r *Resolver) recordListed(
	ctx context.Context, list any, detail func() (map[string]any, error),
) error {
	// Texts, numbers and times can be encoded.
	text, _ := json.Marshal([]any{schema.CallerFrom(ctx).Operator.Actor, list})
	key, now := sha256.Sum256(text), r.Now()
	if r.listed.has(key, now) {
		return nil
	}

	about, err := detail()
	if err != nil {
		return coded(err)
	}
	if err := r.record(ctx, r.done(ctx, schema.AuditActionListed, "", about)); err != nil {
		return err
	}
	r.listed.add(key, now)
	return nil
}

// recordListedLeads records a list of leads with the number of all leads that it may show.
func (r *Resolver) recordListedLeads(ctx context.Context, f store.Filter, state lead.State) error {
	f.After, f.Limit, f.ByAmount, f.Newest = nil, 0, false, false
	return r.recordListed(ctx, []any{"leads", f, state}, func() (map[string]any, error) {
		counts, err := r.Leads.Count(ctx, f, state)
		return FilterDetail(f, state, store.NumberOf(counts)), err
	})
}
