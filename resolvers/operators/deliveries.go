package operators

import (
	"cmp"
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
	if of != "" {
		f.Leads = []string{of}
		if l, err := r.Leads.Find(ctx, of); err == nil {
			f.Leads[0] = l.ID
		}
	}
	var err error
	if f.After, err = numberAt(after); err != nil {
		return nil, err
	}

	limit := f.Limit
	f.Newest, f.Limit = true, limit+1
	list, err := r.deliveries(ctx, f)
	if err != nil {
		return nil, err
	}

	var cursors []string
	edges := []*schema.DeliveryEdge{}
	for _, d := range list[:min(limit, len(list))] {
		cursors = append(cursors, newCursor(d.ID))
		edges = append(edges, &schema.DeliveryEdge{Cursor: newCursor(d.ID), Node: d})
	}

	n := executor.Fitting(ctx, edges, func(int) string { return "" })
	page := &schema.DeliveryConnection{Edges: edges[:n], PageInfo: pageInfo(cursors[:n], n < len(list))}
	detail := map[string]any{"count": n, "of": "deliveries"}
	return page, r.recordShown(ctx, schema.AuditActionListed, "", detail)
}

// deliveries returns deliveries and their leads in the types of the schema. The lead of a
// delivery is nil if it was erased.
func (r *Resolver) deliveries(ctx context.Context, f store.DeliveryFilter) ([]*schema.Delivery, error) {
	found, err := r.Leads.Store.ListDeliveries(ctx, f)
	if err != nil || len(found) == 0 {
		return nil, err
	}

	var of store.Filter
	for _, d := range found {
		of.IDs = append(of.IDs, d.LeadID)
	}
	stored, _, err := r.Leads.Leads(ctx, of)
	if err != nil {
		return nil, err
	}
	shown, err := r.shownLeads(ctx, stored)
	if err != nil {
		return nil, err
	}

	byID := map[string]*schema.Lead{}
	for _, l := range shown {
		byID[l.ID] = l
	}
	list := make([]*schema.Delivery, len(found))
	for i, d := range found {
		list[i] = newDelivery(d, byID[d.LeadID])
	}
	return list, nil
}

// delivery returns the delivery with an id, or NOT_FOUND if there is none or its lead was
// erased.
func (r *Resolver) delivery(ctx context.Context, id string) (lead.Delivery, error) {
	missing := schema.NotFound("There is no delivery " + id + ".")
	number, _ := strconv.ParseInt(id, 10, 64)
	if number < 1 {
		return lead.Delivery{}, missing
	}

	list, err := r.Leads.Store.ListDeliveries(ctx, store.DeliveryFilter{ID: number})
	if err != nil || len(list) == 0 {
		return lead.Delivery{}, cmp.Or(err, error(missing))
	}
	of, _, err := r.Leads.Leads(ctx, store.Filter{IDs: []string{list[0].LeadID}})
	if err != nil || len(of) == 0 { // The lead may have been erased.
		return lead.Delivery{}, cmp.Or(err, error(missing))
	}
	return list[0], nil
}

// retry makes a delivery due now and records it in the audit.
func (r *Resolver) retry(ctx context.Context, d lead.Delivery) error {
	detail := map[string]any{"target": newTarget(d.Target)}
	if err := r.record(ctx, r.auditEntry(ctx, schema.AuditActionRetried, d.LeadID, detail)); err != nil {
		return err
	}
	return r.Leads.Store.RetryDelivery(ctx, d.ID)
}

// RetryDelivery resolves the root field `retryDelivery`.
func (r *Resolver) RetryDelivery(ctx context.Context, id string) (*schema.Delivery, error) {
	d, err := r.delivery(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := r.retry(ctx, d); err != nil {
		return nil, err
	}

	list, err := r.deliveries(ctx, store.DeliveryFilter{ID: d.ID})
	if err == nil && len(list) == 0 {
		err = schema.NotFound("There is no such delivery.") // The lead was erased in the meantime.
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// RetryDeliveries resolves the root field `retryDeliveries`.
func (r *Resolver) RetryDeliveries(
	ctx context.Context, all bool, f store.DeliveryFilter, ids []string,
) (n int, err error) {
	var list []lead.Delivery
	if all {
		if f.States == nil {
			f.States = []lead.DeliveryState{lead.Pending, lead.Retrying, lead.Failed}
		}
		if list, err = r.Leads.Store.ListDeliveries(ctx, f); err != nil {
			return 0, err
		}
	}
	for _, id := range ids {
		d, err := r.delivery(ctx, id)
		if err != nil {
			return 0, err
		}
		list = append(list, d)
	}

	for _, d := range list {
		err := r.retry(ctx, d)
		if err == nil {
			n++
		} else if !errors.Is(err, store.ErrNotFound) {
			return n, err
		}
	}
	return n, nil
}

// VerifyDeliveries resolves the root field `verifyDeliveries`. Other targets than the CMS
// and the CRM cannot be searched for leads.
func (r *Resolver) VerifyDeliveries(
	ctx context.Context, since time.Time, target lead.Target, fix bool,
) (*schema.DeliveryVerification, error) {
	if target != "" && target != lead.CMS && target != lead.CRM {
		return nil, schema.BadInput(schema.NotAllowed("target", []string{
			string(schema.DeliveryTargetCms),
			string(schema.DeliveryTargetCrm),
		}))
	}

	var resend leads.Resend
	if fix {
		resend = func(ctx context.Context, leadID string, to lead.Target) error {
			return r.resend(ctx, leadID, to, "")
		}
	}
	v, err := r.Leads.Verify(ctx, since, target, resend)
	return v, err
}

func newTarget(t lead.Target) schema.DeliveryTarget {
	return schema.DeliveryTarget(strings.ToUpper(string(t)))
}

// newDelivery converts a delivery to the schema's type. The lead is nil if it was erased.
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
