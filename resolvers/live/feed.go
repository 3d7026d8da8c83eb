// Package live sends open pages what changes of leads, from the changes that the
// store records, whoever made them: for each page it asks the database every half second.
package live

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

const (
	askEvery = 500 * time.Millisecond

	// resumable is how old the position of a page may be that comes back. An older one
	// loads anew, as one does that missed mostChanges.
	resumable   = time.Hour
	mostChanges = 5_000
)

// Follow returns what changed since a position, and from then on what changes, until ctx
// ends. While the database is away, the page waits.
func Follow(ctx context.Context, changes store.Changes, position string) (<-chan *schema.LeadEvent, error) {
	milliseconds, _ := strconv.ParseInt(position, 10, 64)
	r := &reader{changes: changes, last: time.UnixMilli(milliseconds)}
	event, err := r.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading what changed: %w", err)
	}

	events := make(chan *schema.LeadEvent, 1)
	events <- event
	go func() {
		defer close(events)
		for tick := time.Tick(askEvery); ; {
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}

			event, err := r.read(ctx)
			if err != nil || !event.Restarted && len(event.Changes) == 0 {
				continue
			}
			select {
			case events <- event:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events, nil
}

// reader reads the changes for one page.
type reader struct {
	changes store.Changes
	last    time.Time      // the database's time at the last answer
	sent    map[int64]bool // the numbers of the changes in that answer
}

// read returns what was not in the last answer. A transaction may have been under way then
// whose changes are older.
func (r *reader) read(ctx context.Context) (*schema.LeadEvent, error) {
	changes, now, err := r.changes.ChangesSince(ctx, r.last.Add(-store.ChangeUnseen), mostChanges)
	if err != nil {
		return nil, err
	}

	event := &schema.LeadEvent{
		Position:  strconv.FormatInt(now.UnixMilli(), 10),
		Restarted: r.last.After(now) || now.Sub(r.last) > resumable || len(changes) == mostChanges,
		Changes:   []*schema.LeadChange{},
	}
	before := r.sent
	r.last, r.sent = now, map[int64]bool{}
	ofLead := map[string]*schema.LeadChange{}
	for _, change := range changes {
		r.sent[change.Seq] = true
		if before[change.Seq] || event.Restarted {
			continue
		}

		// One change of each lead is left: its creation or its erasure, if there was one.
		known := ofLead[change.Lead]
		if known == nil {
			known = &schema.LeadChange{Reference: lead.Reference(change.Lead), ID: &change.Lead}
			ofLead[change.Lead] = known
			event.Changes = append(event.Changes, known)
		}
		if known.Kind == "" || change.Kind != store.LeadChanged {
			known.Kind = kinds[change.Kind]
		}
	}
	return event, nil
}

var kinds = map[store.ChangeKind]schema.LeadChangeKind{
	store.LeadCreated: schema.LeadChangeKindCreated,
	store.LeadChanged: schema.LeadChangeKindChanged,
	store.LeadErased:  schema.LeadChangeKindErased,
}
