package leads

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/executor"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Deliveries resolves the root field `deliveries`.
func (r *Resolver) Deliveries(
	ctx context.Context, of *string, state []lead.DeliveryState, target *lead.Target,
	first *int, after *string,
) (*schema.DeliveryConnection, error) {
	f := store.DeliveryFilter{States: state, Target: schema.ValueOr(target, "")}
	if name := schema.ValueOr(of, ""); name != "" {
		found, err := r.Named(ctx, name)
		if err != nil {
			return nil, err
		}
		f.Leads = idsOf(found)
	}
	var err error
	if f.After, err = schema.CursorNumber(schema.ValueOr(after, "")); err != nil {
		return nil, err
	}

	limit := schema.ValueOr(first, schema.DefaultPage)
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

	n := executor.Fitting(ctx, "edges", edges)
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
	if err := r.Operators.Record(ctx, schema.AuditActionRetried, d.LeadID,
		targetDetail(d.Target)); err != nil {
		return err
	}
	return r.Store.RetryDelivery(ctx, d.ID)
}

// RetryLeads resolves the root field `retryLeads`.
func (r *Resolver) RetryLeads(ctx context.Context, names []string) (*schema.LeadsPayload, error) {
	return r.changeAll(ctx, names, r.retryLead)
}

// retryLead makes the failed and retrying deliveries of a lead due now.
func (r *Resolver) retryLead(ctx context.Context, l lead.Lead) (bool, error) {
	retried := false
	for _, d := range l.Deliveries {
		if d.State != lead.Failed && d.State != lead.Retrying && d.Code != lead.MailRefused {
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

// ResendLead resolves the root field `resendLead`. A corrected address is that of the
// visitor's mail.
func (r *Resolver) ResendLead(
	ctx context.Context, name string, target lead.Target, corrected *string,
) (*schema.LeadPayload, error) {
	email := schema.CleanEmail(schema.ValueOr(corrected, ""))
	return r.change(ctx, name, func(ctx context.Context, l lead.Lead) (bool, error) {
		switch {
		case email != "" && target != lead.VisitorMail:
			return false, schema.BadInput(
				schema.Conflict("email", "target", "can only be given with VISITOR_MAIL"))
		case !l.Released():
			return false, errUnreleased
		case !r.Queue.DeliversTo(target):
			return false, schema.BadRequest("Nothing is delivered to this target: it is not set up.")
		}
		if err := r.checkLimit(ctx, l, target, email); err != nil {
			return false, err
		}

		err := r.resend(ctx, l.ID, target, email)
		if errors.Is(err, store.ErrUnderWay) && email == "" {
			return false, nil
		}
		if errors.Is(err, store.ErrUnderWay) {
			err = schema.NewError(schema.CodeConflict,
				"The mail is under way: correct its address afterward.")
		}
		return err == nil, err
	})
}

// checkLimit refuses to send a mail that has arrived to its visitor again, perhaps at a
// corrected address, if the address got all its mails: the delivery would end as one not sent.
func (r *Resolver) checkLimit(ctx context.Context, l lead.Lead, target lead.Target, email string) error {
	for _, d := range l.Deliveries {
		if target != lead.VisitorMail || d.Target != target || d.Event != lead.Created ||
			d.State != lead.Delivered {
			continue
		}
		full, err := r.Mails.IsFull(ctx, cmp.Or(email, d.Recipient, l.Contact.Email))
		if err == nil && full {
			err = schema.BadRequest("The mail has arrived, and is not sent again now. " +
				lead.AddressLimit.Words())
		}
		return err
	}
	return nil
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

// DismissDelivery resolves the root field `dismissDelivery`. The reason may name the
// visitor, so it is stored with the delivery and not in the audit.
func (r *Resolver) DismissDelivery(ctx context.Context, id, reason string) (*schema.DeliveryPayload, error) {
	d, err := r.delivery(ctx, id)
	if err != nil {
		return nil, err
	}

	entry := r.Operators.Entry(ctx, schema.AuditActionDismissed, d.LeadID, targetDetail(d.Target))
	dismissed, err := r.Store.DismissDelivery(ctx, d, reason, entry)
	if err == nil && !dismissed {
		err = schema.BadRequest("Only a failed delivery can be dismissed.")
	}
	if err == nil {
		d, err = r.delivery(ctx, id)
	}
	if err != nil {
		return nil, err
	}

	l, err := r.Find(ctx, d.LeadID)
	if isNotFound(err) { // A delivery of an event may outlive its lead.
		return &schema.DeliveryPayload{Delivery: newDelivery(d, nil)}, nil
	}
	if err != nil {
		return nil, err
	}
	return &schema.DeliveryPayload{Delivery: newDelivery(d, newLead(l))}, nil
}

// maxRetried is how many deliveries the response to a retry shows.
const maxRetried = 500

// RetryDeliveries resolves the root field `retryDeliveries`.
func (r *Resolver) RetryDeliveries(
	ctx context.Context, ids []string, all bool, state []lead.DeliveryState, target *lead.Target,
) (*schema.DeliveriesPayload, error) {
	list, err := r.retriable(ctx, ids, all, state, target)
	if err != nil {
		return nil, err
	}

	sum, shown := &schema.DeliveriesPayload{Deliveries: []*schema.Delivery{}}, []lead.Delivery{}
	for _, d := range list {
		err := r.retry(ctx, d)
		if err == nil && len(shown) < maxRetried && executor.Selects(ctx, "deliveries") {
			d, err = r.delivery(ctx, strconv.FormatInt(d.ID, 10))
			shown = append(shown, d)
		}
		switch {
		case err == nil:
			sum.Changed++
		case !isNotFound(err):
			return nil, err
		}
	}

	leads, err := r.leadsOf(ctx, shown)
	for _, d := range shown {
		sum.Deliveries = append(sum.Deliveries, newDelivery(d, leads[d.LeadID]))
	}
	sum.Deliveries = sum.Deliveries[:executor.Fitting(ctx, "deliveries", sum.Deliveries)]
	return sum, err
}

// retriable returns the deliveries with these ids and, if all is set, those that have not
// arrived, which requires an admin. It refuses mails that have arrived: a person would get
// each once more.
func (r *Resolver) retriable(
	ctx context.Context, ids []string, all bool, state []lead.DeliveryState, target *lead.Target,
) (list []lead.Delivery, err error) {
	if all {
		if !request.CallerFrom(ctx).Operator.Role.Includes(schema.RoleAdmin) {
			return nil, schema.NeedsRole(schema.RoleAdmin)
		}
		f := store.DeliveryFilter{States: state, Target: schema.ValueOr(target, "")}
		if f.States == nil {
			f.States = []lead.DeliveryState{lead.Pending, lead.Retrying, lead.Failed}
		}
		if list, err = r.Store.ListDeliveries(ctx, f); err != nil {
			return nil, err
		}
	}

	if all && state == nil {
		refused, err := r.Store.ListDeliveries(ctx, store.DeliveryFilter{
			States: []lead.DeliveryState{lead.NotSent},
			Target: schema.ValueOr(target, ""),
			Code:   lead.MailRefused,
		})
		if err != nil {
			return nil, err
		}
		list = append(list, refused...)
	}

	for _, id := range ids {
		d, err := r.delivery(ctx, id)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	for _, d := range list {
		isMail := d.Target == lead.VisitorMail || d.Target == lead.SalesMail
		if isMail && d.Event == lead.Created && d.State == lead.Delivered {
			return nil, schema.BadRequest("The mail of " + lead.Reference(d.LeadID) +
				" has arrived: `resendLead` sends it once more.")
		}
	}
	return list, nil
}

// newDelivery converts a delivery to the schema's type. The lead is nil if it was erased.
func newDelivery(d lead.Delivery, of *schema.Lead) *schema.Delivery {
	shown := &schema.Delivery{
		ID:           strconv.FormatInt(d.ID, 10),
		Target:       d.Target,
		Event:        d.Event,
		Reference:    lead.Reference(d.LeadID),
		State:        d.State,
		CreatedAt:    d.CreatedAt,
		Attempts:     pointers(d.Errors),
		AttemptCount: d.Attempts,
		MaxAttempts:  d.MaxAttempts,
		Reason:       schema.Optional(d.Why()),
		NoMailReason: schema.Optional(d.Code),
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
