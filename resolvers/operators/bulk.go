package operators

import (
	"context"
	"errors"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// errNothingToRetry means that no delivery of a lead failed or waits for another attempt.
var errNothingToRetry = errors.New("nothing to retry")

// eachLead changes leads one after the other, each with an entry of the audit of its own.
// What fails for one does not stop the others; the end of the request does. A repeated id
// counts once.
func (r *Resolver) eachLead(
	ctx context.Context, field string, ids []string, change leadChange,
) (*schema.LeadsChange, error) {
	sum := &schema.LeadsChange{Failed: []*schema.LeadFailure{}}
	seen := map[string]bool{}
	var found []string
	for _, id := range ids {
		l, err := r.Leads.Find(ctx, id)
		if err == nil && seen[l.ID] {
			continue
		}

		changed := false
		if err == nil {
			seen[l.ID], found = true, append(found, l.ID)
			changed, err = change(l)
		}
		if changed {
			sum.Changed++
		}
		if err != nil {
			sum.Failed = append(sum.Failed, &schema.LeadFailure{ID: id, Reason: r.failureReason(ctx, err)})
		}
	}

	if ctx.Err() != nil && len(sum.Failed) > 0 {
		r.Log.Warn().Ctx(ctx).Int("changed", sum.Changed).Int("not_changed", len(sum.Failed)).
			Msg("the request ended before all leads were changed")
	}
	r.logAudit(ctx, field, found...)
	return sum, nil
}

// failureReason translates the error of a change of one of several leads.
func (r *Resolver) failureReason(ctx context.Context, err error) schema.LeadFailureReason {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return schema.LeadFailureReasonNotFound
	case errors.Is(err, leads.ErrChanged):
		return schema.LeadFailureReasonConflict
	case errors.Is(err, leads.ErrNotInReview):
		return schema.LeadFailureReasonNotInReview
	case errors.Is(err, errNothingToRetry):
		return schema.LeadFailureReasonNothingToRetry
	}
	if ctx.Err() == nil {
		r.Log.Error().Ctx(ctx).Err(err).Msg("changing one of several leads")
	}
	return schema.LeadFailureReasonUnavailable
}

// ReleaseLeads resolves the root field of that name.
func (r *Resolver) ReleaseLeads(
	ctx context.Context, ids []string, all bool, expected lead.State,
) (*schema.LeadsChange, error) {
	ids, err := r.inReview(ctx, ids, all)
	if err != nil {
		return nil, err
	}
	return r.eachLead(ctx, "releaseLeads", ids, func(l lead.Lead) (bool, error) {
		if l.Released() && (expected == "" || expected == l.State()) {
			return false, leads.ErrNotInReview
		}
		return r.release(ctx, expected)(l)
	})
}

// inReview adds the leads in review to ids, if all of them are meant, which is for an admin.
func (r *Resolver) inReview(ctx context.Context, ids []string, all bool) ([]string, error) {
	if !all {
		return ids, nil
	}
	if err := needsAdmin(ctx); err != nil {
		return nil, err
	}
	found, _, err := r.Leads.Leads(ctx, store.Filter{}, lead.StateInReview)
	return append(ids, leadIDs(found)...), coded(err)
}

// RejectLeads resolves the root field of that name.
func (r *Resolver) RejectLeads(
	ctx context.Context, ids []string, all bool, expected lead.State,
) (*schema.LeadsChange, error) {
	ids, err := r.inReview(ctx, ids, all)
	if err != nil {
		return nil, err
	}
	return r.eachLead(ctx, "rejectLeads", ids, r.reject(ctx, expected))
}

// RetryLeads resolves the root field of that name.
func (r *Resolver) RetryLeads(ctx context.Context, ids []string) (*schema.LeadsChange, error) {
	return r.eachLead(ctx, "retryLeads", ids, func(l lead.Lead) (bool, error) {
		unsent, err := r.Leads.Deliveries.ListDeliveries(ctx, store.DeliveryFilter{
			Leads:  []string{l.ID},
			States: []lead.DeliveryState{lead.Failed, lead.Retrying},
		})
		if err == nil && len(unsent) == 0 {
			err = errNothingToRetry
		}

		for _, d := range unsent {
			if err == nil {
				err = r.record(ctx, r.retried(ctx, l.ID, newTarget(d.Target)))
			}
			if err == nil {
				err = r.Leads.Deliveries.RetryDelivery(ctx, d.ID)
			}
		}
		return err == nil, err
	})
}

// SetLeadStatuses resolves the root field of that name.
func (r *Resolver) SetLeadStatuses(
	ctx context.Context, ids []string, status lead.Status,
) (*schema.LeadsChange, error) {
	return r.eachLead(ctx, "setLeadStatuses", ids, r.setStatus(ctx, status))
}

// AssignLeads resolves the root field of that name.
func (r *Resolver) AssignLeads(ctx context.Context, ids []string, owner string) (*schema.LeadsChange, error) {
	owner = crm.Address(owner)
	var given []string
	sum, err := r.eachLead(ctx, "assignLeads", ids, r.assign(ctx, owner, &given))
	r.Mails.NotifyOwner(ctx, owner, given)
	return sum, err
}
