package leads

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
	pollInterval = 500 * time.Millisecond

	// resumable is the maximum age of the position of a reconnecting page. With an older
	// position, or after maxChanges missed changes, the page reloads.
	resumable  = time.Hour
	maxChanges = 5_000
)

// changeLog is the part of the store that records changes of leads.
type changeLog interface {
	ChangesSince(ctx context.Context, since time.Time, n int) ([]store.LeadChange, time.Time, error)
}

// LeadEvents resolves the root field `leadEvents`, which sends the changes of leads to open
// pages.
func (r *Resolver) LeadEvents(ctx context.Context, after *string) (<-chan *schema.LeadEvent, error) {
	events, err := follow(ctx, r.Store, schema.ValueOr(after, ""))
	if err != nil {
		return nil, err
	}
	return events, r.Operators.RecordShown(ctx, schema.AuditActionListed, "",
		map[string]any{"of": "lead events"})
}

// follow sends the changes since a position, and then each later change, until ctx ends.
// For each page it polls the store every half second for changes that any process has
// recorded. If the database fails after the first event, the changes are sent once it is
// available again.
func follow(ctx context.Context, changes changeLog, position string) (<-chan *schema.LeadEvent, error) {
	milliseconds, _ := strconv.ParseInt(position, 10, 64)
	r := &reader{changes: changes, last: time.UnixMilli(milliseconds)}
	event, err := r.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the changes of leads: %w", err)
	}

	events := make(chan *schema.LeadEvent, 1)
	events <- event
	go func() {
		defer close(events)
		for tick := time.Tick(pollInterval); ; {
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
	changes changeLog
	last    time.Time      // the database's time at the last read
	sent    map[int64]bool // sequence numbers of the changes in that read
}

// read returns the changes that the last read did not return. It reaches back by
// [store.ChangeUnseen], since transactions that were in progress at the last read may
// have recorded older changes.
func (r *reader) read(ctx context.Context) (*schema.LeadEvent, error) {
	changes, now, err := r.changes.ChangesSince(ctx, r.last.Add(-store.ChangeUnseen), maxChanges)
	if err != nil {
		return nil, err
	}

	event := &schema.LeadEvent{
		Position:  strconv.FormatInt(now.UnixMilli(), 10),
		Restarted: r.last.After(now) || now.Sub(r.last) > resumable || len(changes) == maxChanges,
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

		// Each lead gets one change: its creation or its erasure, if there was one.
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
