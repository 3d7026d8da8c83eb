package operators

import (
	"context"

	"siteapi/resolvers/live"
	"siteapi/schema"
)

// LeadEvents resolves the root field `leadEvents`.
func (r *Resolver) LeadEvents(ctx context.Context, after string) (<-chan *schema.LeadEvent, error) {
	events, err := live.Follow(ctx, r.Leads.Store, after)
	if err != nil {
		return nil, err
	}
	return events, r.recordShown(ctx, schema.AuditActionListed, "", map[string]any{"of": "lead events"})
}
