package leads

import (
	"context"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
	"siteapi/schema/request"
)

// ReviewAll decides on leads and, if all is set, on all leads in review, which requires an
// admin.
func (r *Resolver) ReviewAll(
	ctx context.Context, ids []string, all bool, decision LeadChange,
) (*schema.LeadsChange, error) {
	if all && request.CallerFrom(ctx).Operator.Role != schema.RoleAdmin {
		return nil, schema.NeedsRole(schema.RoleAdmin)
	}
	if all {
		found, _, err := r.list(ctx, store.Filter{State: lead.StateInReview})
		if err != nil {
			return nil, err
		}
		ids = append(ids, idsOf(found)...)
	}
	return r.ChangeAll(ctx, ids, decision)
}

// Release ends the review of a lead or revokes its rejection, and delivers it.
func (r *Resolver) Release(expected lead.State) LeadChange {
	return r.decide(expected, func(ctx context.Context, id string) (bool, error) {
		entry := r.Operators.Entry(ctx, schema.AuditActionReleased, id, nil)
		return r.Store.Release(ctx, id, expected == lead.StateInReview, entry)
	})
}

// Reject ends the review of a lead so that it is never delivered.
func (r *Resolver) Reject(expected lead.State) LeadChange {
	return r.decide(expected, func(ctx context.Context, id string) (bool, error) {
		return r.Store.Reject(ctx, id, r.Operators.Entry(ctx, schema.AuditActionRejected, id, nil))
	})
}

// decide applies a decision to a lead that is in the expected state; an empty state
// accepts any. It fails if there is nothing to decide.
func (r *Resolver) decide(expected lead.State, decision func(ctx context.Context, id string) (bool, error)) LeadChange {
	return func(ctx context.Context, l lead.Lead) (bool, error) {
		if expected != "" && l.State() != expected {
			return false, errChanged
		}

		decided, err := decision(ctx, l.ID)
		switch {
		case err != nil || decided:
			return decided, err
		case expected == lead.StateInReview || expected == lead.StateRejected: // another change came first
			return false, errChanged
		}
		return false, errNotInReview
	}
}
