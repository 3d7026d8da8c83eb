package leads

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/leadmail"
	"siteapi/schema"
)

// DeliveryPage resolves the root field `deliveries`.
func (r *Resolver) DeliveryPage(
	ctx context.Context, f store.DeliveryFilter, of, after string,
) (*schema.DeliveryConnection, error) {
	if of != "" {
		found, err := r.Named(ctx, of)
		if err != nil {
			return nil, err
		}
		f.Leads = idsOf(found)
	}
	var err error
	if f.After, err = schema.CursorNumber(after); err != nil {
		return nil, err
	}

	limit := f.Limit
	f.Newest, f.Limit = true, limit+1
	found, err := r.Store.ListDeliveries(ctx, f)
	if err != nil {
		return nil, err
	}
	more := len(found) > limit
	found = found[:min(limit, len(found))]
	leads, err := r.leadsOf(ctx, found)
	if err != nil {
		return nil, err
	}

	edges, cursors := make([]*schema.DeliveryEdge, len(found)), make([]string, len(found))
	for i, d := range found {
		shown := newDelivery(d, leads[d.LeadID])
		cursors[i] = schema.NewCursor(shown.ID)
		edges[i] = &schema.DeliveryEdge{Cursor: cursors[i], Node: shown}
	}

	n := executor.Fitting(ctx, edges, func(int) string { return "" })
	page := &schema.DeliveryConnection{
		Edges:    edges[:n],
		PageInfo: schema.NewPageInfo(cursors[:n], more || n < len(found)),
	}
	detail := map[string]any{"count": n, "of": "deliveries"}
	return page, r.Operators.RecordShown(ctx, schema.AuditActionListed, "", detail)
}

// leadsOf returns the leads of deliveries by id, without those that were erased in the
// meantime.
func (r *Resolver) leadsOf(ctx context.Context, deliveries []lead.Delivery) (map[string]*schema.Lead, error) {
	of := store.Filter{IDs: []string{""}} // Without an id, all leads would match.
	for _, d := range deliveries {
		of.IDs = append(of.IDs, d.LeadID)
	}

	byID := map[string]*schema.Lead{}
	found, _, err := r.list(ctx, of)
	for _, l := range found {
		byID[l.ID] = newLead(l)
	}
	return byID, err
}

// delivery returns the delivery with an id, or NOT_FOUND.
func (r *Resolver) delivery(ctx context.Context, id string) (lead.Delivery, error) {
	number, _ := strconv.ParseInt(id, 10, 64)
	d, err := r.Store.Delivery(ctx, number)
	if errors.Is(err, store.ErrNotFound) {
		err = schema.NotFound("There is no delivery " + id + ".")
	}
	return d, err
}

// targetDetail describes the target of a delivery in the audit.
func targetDetail(target lead.Target) map[string]any {
	return map[string]any{"target": strings.ToUpper(string(target))}
}

// retry makes a delivery due now and records it in the audit.
func (r *Resolver) retry(ctx context.Context, d lead.Delivery) error {
	if err := r.Operators.Record(ctx, schema.AuditActionRetried, d.LeadID, targetDetail(d.Target)); err != nil {
		return err
	}
	return r.Store.RetryDelivery(ctx, d.ID)
}

// Retry makes the failed and retrying deliveries of a lead due now.
func (r *Resolver) Retry(ctx context.Context, l lead.Lead) (bool, error) {
	retried := false
	for _, d := range l.Deliveries {
		if d.State != lead.Failed && d.State != lead.Retrying {
			continue
		}
		if err := r.retry(ctx, d); err != nil {
			return false, err
		}
		retried = true
	}
	if !retried {
		return false, errNothingToRetry
	}
	return true, nil
}

// Resend delivers a lead to a target again, unless a delivery is under way. A non-empty
// email corrects the address of the visitor's mail.
func (r *Resolver) Resend(target lead.Target, email string) LeadChange {
	return func(ctx context.Context, l lead.Lead) (bool, error) {
		switch {
		case email != "" && target != lead.VisitorMail:
			return false, schema.BadInput(schema.Conflict("email", "target", "can only be given with VISITOR_MAIL"))
		case !l.Released():
			return false, errUnreleased
		case !r.Queue.DeliversTo(target):
			return false, schema.BadRequest("Nothing is delivered to this target: it is not set up.")
		}

		err := r.resend(ctx, l.ID, target, email)
		if errors.Is(err, store.ErrUnderWay) && email == "" {
			return false, nil
		}
		if errors.Is(err, store.ErrUnderWay) {
			err = schema.NewError(schema.CodeConflict, "The mail is under way: correct its address afterward.")
		}
		return err == nil, err
	}
}

// resend delivers a lead to a target again and records it in the audit. A non-empty email
// corrects the address of the visitor's mail.
func (r *Resolver) resend(ctx context.Context, leadID string, target lead.Target, email string) error {
	detail := targetDetail(target)
	if email != "" {
		detail["corrected"] = true
	}
	entry := r.Operators.Entry(ctx, schema.AuditActionResent, leadID, detail)
	return r.Store.ResendLead(ctx, leadID, target, email, entry)
}

// RetryDelivery resolves the root field `retryDelivery`.
func (r *Resolver) RetryDelivery(ctx context.Context, id string) (*schema.Delivery, error) {
	return r.changeDelivery(ctx, id, r.retry)
}

// DismissDelivery resolves the root field `dismissDelivery`. The reason may name the
// visitor, so it is stored with the delivery and not in the audit.
func (r *Resolver) DismissDelivery(ctx context.Context, id, reason string) (*schema.Delivery, error) {
	return r.changeDelivery(ctx, id, func(ctx context.Context, d lead.Delivery) error {
		entry := r.Operators.Entry(ctx, schema.AuditActionDismissed, d.LeadID, targetDetail(d.Target))
		dismissed, err := r.Store.DismissDelivery(ctx, d, reason, entry)
		if err == nil && !dismissed {
			err = schema.BadRequest("Only a failed delivery can be dismissed.")
		}
		return err
	})
}

// changeDelivery changes the delivery with an id, and returns it.
func (r *Resolver) changeDelivery(
	ctx context.Context, id string, change func(ctx context.Context, d lead.Delivery) error,
) (*schema.Delivery, error) {
	d, err := r.delivery(ctx, id)
	if err == nil {
		err = change(ctx, d)
	}
	if err == nil {
		d, err = r.delivery(ctx, id)
	}
	if err != nil {
		return nil, err
	}

	l, err := r.Find(ctx, d.LeadID)
	if err != nil {
		return nil, err
	}
	return newDelivery(d, newLead(l)), nil
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
		if list, err = r.Store.ListDeliveries(ctx, f); err != nil {
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

// newDelivery converts a delivery to the schema's type. The lead is nil if it was erased.
func newDelivery(d lead.Delivery, of *schema.Lead) *schema.Delivery {
	noMail, reason := leadmail.Reason(d)
	shown := &schema.Delivery{
		ID:           strconv.FormatInt(d.ID, 10),
		Target:       d.Target,
		State:        d.State,
		CreatedAt:    d.CreatedAt,
		Attempts:     pointers(d.Errors),
		AttemptCount: d.Attempts,
		MaxAttempts:  d.MaxAttempts,
		Reason:       schema.Optional(reason),
		NoMailReason: schema.Optional(noMail),
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
