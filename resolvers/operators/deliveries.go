package operators

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// DeliveryPage resolves the root field `deliveries`.
func (r *Resolver) DeliveryPage(
	ctx context.Context, f store.DeliveryFilter, of, after string,
) (*schema.DeliveryConnection, error) {
	f.Newest = true
	if of != "" {
		f.Leads = []string{of}
		if l, err := r.Leads.Find(ctx, of); err == nil {
			f.Leads[0] = l.ID
		}
	}
	if after != "" {
		var err error
		if f.After, err = strconv.ParseInt(cursorText(after), 10, 64); err != nil || f.After < 1 {
			return nil, badCursor()
		}
	}

	list, more, err := r.deliveries(ctx, f)
	if err != nil {
		return nil, err
	}

	edges := make([]*schema.DeliveryEdge, len(list))
	for i, d := range list {
		edges[i] = &schema.DeliveryEdge{Cursor: newCursor(d.ID), Node: d}
	}

	n := executor.Fitting(ctx, edges, nil)
	r.logAudit(ctx, "deliveries", leadsOf(list[:n])...)
	err = r.recordShown(ctx, schema.AuditActionListed, "", map[string]any{"count": n, "of": "deliveries"})
	if err != nil {
		return nil, err
	}

	page := &schema.DeliveryConnection{
		Edges:    edges[:n],
		PageInfo: &schema.PageInfo{HasNextPage: more || n < len(edges)},
	}
	if n > 0 {
		page.PageInfo.EndCursor = &edges[n-1].Cursor
	}
	return page, nil
}

// RetryDelivery resolves the root field of that name.
func (r *Resolver) RetryDelivery(ctx context.Context, id string) (*schema.Delivery, error) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || number < 1 || strconv.FormatInt(number, 10) != id { // one delivery has one id
		return nil, schema.NotFound("There is no such delivery.")
	}

	one := store.DeliveryFilter{ID: number, Limit: 1}
	list, _, err := r.deliveries(ctx, one)
	if err == nil && (len(list) == 0 || list[0].Lead == nil) {
		err = store.ErrNotFound // or its lead has been erased
	}
	if err == nil {
		err = r.record(ctx, r.retried(ctx, list[0].Lead.ID, list[0].Target))
	}
	if err == nil {
		err = r.Leads.Deliveries.RetryDelivery(ctx, number)
	}
	if err == nil {
		list, _, err = r.deliveries(ctx, one)
	}

	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && len(list) == 0:
		return nil, schema.NotFound("There is no such delivery.")
	case err != nil:
		return nil, coded(err)
	}

	r.logAudit(ctx, "retryDelivery", leadsOf(list)...)
	return list[0], nil
}

// RetryDeliveries resolves the root field of that name.
func (r *Resolver) RetryDeliveries(
	ctx context.Context, all bool, f store.DeliveryFilter, ids []string,
) (int, error) {
	if all {
		if f.States == nil {
			f.States = []lead.DeliveryState{lead.Pending, lead.Retrying, lead.Failed}
		}
		found, err := r.Leads.Deliveries.ListDeliveries(ctx, f)
		if err != nil {
			return 0, coded(err)
		}
		for _, d := range found {
			ids = append(ids, strconv.FormatInt(d.ID, 10))
		}
	}

	n := 0
	for _, id := range ids {
		_, err := r.RetryDelivery(ctx, id)
		refused, ok := errors.AsType[*schema.Error](err)
		switch gone := ok && refused.Code == schema.CodeNotFound; {
		case err == nil:
			n++
		case gone && !all:
			return n, schema.NotFound("There is no delivery " + id + ".")
		case !gone:
			return n, err
		}
	}
	return n, nil
}

// VerifyDeliveries resolves the root field of that name.
func (r *Resolver) VerifyDeliveries(
	ctx context.Context, since time.Time, target lead.Target, fix bool,
) (*schema.DeliveryVerification, error) {
	var resend leads.Fix
	if fix {
		resend = func(ctx context.Context, leadID string, to lead.Target) error {
			detail := map[string]any{"target": newTarget(to)}
			return r.record(ctx, r.done(ctx, schema.AuditActionResent, leadID, detail))
		}
	}
	v, err := r.Leads.Verify(ctx, since, target, resend)
	if err != nil {
		return nil, coded(err)
	}

	shown := &schema.DeliveryVerification{Leads: v.Leads}
	for _, t := range v.Targets {
		if t.Asked() {
			shown.Missing += t.Missing
		}
		if t.Error != "" {
			shown.Failed++
		}
		shown.Targets = append(shown.Targets, &schema.VerifiedTarget{
			Target:   newTarget(t.Target),
			Present:  t.Present,
			UnderWay: t.UnderWay,
			Missing:  t.Missing,
			Resent:   t.Resent,
			NotSent:  t.NotSent,
			Error:    schema.Optional(t.Error),
		})
	}
	return shown, nil
}

// retried returns the entry of the audit for a delivery that is tried by hand.
func (r *Resolver) retried(ctx context.Context, leadID string, target schema.DeliveryTarget) store.AuditEntry {
	return r.done(ctx, schema.AuditActionRetried, leadID, map[string]any{"target": target})
}

// deliveries returns deliveries with their leads as operators see them, and whether there
// are more.
func (r *Resolver) deliveries(
	ctx context.Context, f store.DeliveryFilter,
) (list []*schema.Delivery, more bool, err error) {
	found, of, more, err := r.Leads.DeliveryPage(ctx, f)
	if err != nil {
		return nil, false, coded(err)
	}
	shown, err := r.shownLeads(ctx, of...)
	if err != nil {
		return nil, false, err
	}

	byID := map[string]*schema.Lead{} // leads that were erased are missing
	for _, l := range shown {
		byID[l.ID] = l
	}
	for _, d := range found {
		list = append(list, newDelivery(d, byID[d.LeadID]))
	}
	return list, more, nil
}

// leadsOf returns the ids of the leads of deliveries, without those that were erased.
func leadsOf(list []*schema.Delivery) (ids []string) {
	for _, d := range list {
		if d.Lead != nil {
			ids = append(ids, d.Lead.ID)
		}
	}
	return ids
}

func newTarget(t lead.Target) schema.DeliveryTarget {
	return schema.DeliveryTarget(strings.ToUpper(string(t)))
}

// newDelivery returns a delivery as operators see it. The lead is nil if it was erased.
func newDelivery(d lead.Delivery, of *schema.Lead) *schema.Delivery {
	shown := &schema.Delivery{
		ID:           strconv.FormatInt(d.ID, 10),
		Target:       newTarget(d.Target),
		State:        schema.DeliveryState(strings.ToUpper(string(d.State))),
		CreatedAt:    d.CreatedAt,
		Attempts:     pointers(d.Errors),
		AttemptCount: d.Attempts,
		MaxAttempts:  d.MaxAttempts,
		Reason:       schema.Optional(d.Why()),
		Email:        schema.Optional(d.Recipient),
		Lead:         of,
	}

	if !d.NextAt.IsZero() {
		shown.NextAttemptAt = &d.NextAt
	}
	if d.State == lead.Delivered {
		shown.DeliveredAt = &d.FinishedAt
	}

	return shown
}
