package operators

import (
	"context"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/live"
	"siteapi/schema"
)

// LeadEvents resolves the root field of that name.
func (r *Resolver) LeadEvents(ctx context.Context, after string) (<-chan *schema.LeadEvent, error) {
	follower, err := r.Live.Follow(ctx, after)
	if err != nil {
		return nil, coded(err)
	}

	err = r.recordShown(ctx, schema.AuditActionListed, "", map[string]any{"of": "lead events"})
	if err != nil {
		follower.Close()
		return nil, err
	}

	events := make(chan *schema.LeadEvent)
	go func() {
		defer follower.Close()
		defer close(events)
		for {
			event, err := follower.Next(ctx)
			if err != nil { // the stream has ended
				return
			}
			select {
			case events <- newLeadEvent(event):
			case <-ctx.Done():
				return
			}
		}
	}()
	return events, nil
}

func newLeadEvent(e live.Event) *schema.LeadEvent {
	kinds := map[store.ChangeKind]schema.LeadChangeKind{
		store.LeadCreated: schema.LeadChangeKindCreated,
		store.LeadChanged: schema.LeadChangeKindChanged,
		store.LeadErased:  schema.LeadChangeKindErased,
	}

	event := &schema.LeadEvent{Position: e.Position, Restarted: e.Restarted, Changes: []*schema.LeadChange{}}
	for _, change := range e.Changes {
		event.Changes = append(event.Changes, &schema.LeadChange{
			Reference: lead.Reference(change.Lead),
			ID:        &change.Lead,
			Kind:      kinds[change.Kind],
		})
	}
	return event
}
