package leads

import (
	"context"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
	"siteapi/schema/request"
)

// reviewAll decides on leads and, if all is set, on all leads in review, which requires an
// admin.
func (r *Resolver) reviewAll(
	ctx context.Context, names []string, all bool, decision LeadChange,
) (*schema.LeadsPayload, error) {
	if all && !request.CallerFrom(ctx).Operator.Role.Includes(schema.RoleAdmin) {
		return nil, schema.NeedsRole(schema.RoleAdmin)
	}
	if all {
		found, _, err := r.list(ctx, store.Filter{State: lead.StateInReview})
		if err != nil {
			return nil, err
		}
		names = append(names, idsOf(found)...)
	}
	return r.changeAll(ctx, names, decision)
}

// ReleaseLeads resolves the root field `releaseLeads`.
func (r *Resolver) ReleaseLeads(
	ctx context.Context, names []string, all bool, expected *lead.State,
) (*schema.LeadsPayload, error) {
	return r.reviewAll(ctx, names, all, r.release(expected))
}

// RejectLeads resolves the root field `rejectLeads`.
func (r *Resolver) RejectLeads(
	ctx context.Context, names []string, all bool, expected *lead.State,
) (*schema.LeadsPayload, error) {
	return r.reviewAll(ctx, names, all, r.reject(expected))
}

// release ends the review of a lead or revokes its rejection, and delivers it.
func (r *Resolver) release(state *lead.State) LeadChange {
	expected := schema.ValueOr(state, "")
	return r.decide(expected, func(ctx context.Context, id string) (bool, error) {
		entry := r.Operators.Entry(ctx, schema.AuditActionReleased, id, nil)
		return r.Store.Release(ctx, id, expected == lead.StateInReview, entry)
	})
}

// reject ends the review of a lead so that it is never delivered.
func (r *Resolver) reject(expected *lead.State) LeadChange {
	return r.decide(schema.ValueOr(expected, ""), func(ctx context.Context, id string) (bool, error) {
		return r.Store.Reject(ctx, id, r.Operators.Entry(ctx, schema.AuditActionRejected, id, nil))
	})
}

// decide applies a decision to a lead that is in the expected state; an empty state
// accepts any. It fails if there is nothing to decide.
func (r *Resolver) decide(
	expected lead.State, decision func(ctx context.Context, id string) (bool, error),
) LeadChange {
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
