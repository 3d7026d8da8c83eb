package operators

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// Errors of changes that the state of a lead does not allow.
var (
	errChanged = &schema.Error{
		Code:    schema.CodeConflict,
		Message: "The state of the lead has changed in the meantime.",
	}
	errNotInReview    = refused("The lead is not in review.")
	errUnreleased     = refused("The lead is in review or was rejected: release it first.")
	errNothingToRetry = refused("No delivery of the lead has failed or is waiting for another attempt.")
)

// LeadChange changes a lead and reports whether anything changed.
type LeadChange = func(ctx context.Context, l lead.Lead) (changed bool, err error)

// Change changes a lead and returns it, even if nothing changes. It therefore records in
// the audit that the lead was read.
func (r *Resolver) Change(ctx context.Context, id string, change LeadChange) (*schema.Lead, error) {
	l, err := r.Leads.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := r.recordShown(ctx, schema.AuditActionOpened, l.ID, nil); err != nil {
		return nil, err
	}
	if _, err := change(ctx, l); err != nil {
		return nil, err
	}

	if l, err = r.Leads.Find(ctx, l.ID); err != nil {
		return nil, err
	}
	return r.shownLead(ctx, l)
}

// ChangeAll changes leads one after the other, each once and with its own audit entry. It
// continues after a failure. Once the request has ended, the remaining changes fail.
func (r *Resolver) ChangeAll(ctx context.Context, ids []string, change LeadChange) (*schema.LeadsChange, error) {
	sum := &schema.LeadsChange{Failed: []*schema.LeadFailure{}}
	seen := map[string]bool{}
	for _, id := range ids {
		l, err := r.Leads.Find(ctx, id)
		key := cmp.Or(l.ID, id)
		if seen[key] {
			continue
		}
		seen[key] = true

		changed := false
		if err == nil {
			changed, err = change(ctx, l)
		}
		if err != nil {
			sum.Failed = append(sum.Failed, &schema.LeadFailure{ID: id, Reason: r.failureReason(ctx, err)})
		} else if changed {
			sum.Changed++
		}
	}
	return sum, nil
}

// InReview adds all leads in review to ids if all is set, which requires an admin.
func (r *Resolver) InReview(ctx context.Context, ids []string, all bool) ([]string, error) {
	if !all {
		return ids, nil
	}
	if schema.CallerFrom(ctx).Operator.Role != schema.RoleAdmin {
		return nil, forbidden(schema.RoleAdmin)
	}
	found, _, err := r.Leads.Leads(ctx, store.Filter{InReview: true})
	return append(ids, leads.IDs(found)...), err
}

// failureReason converts the error of one change to the reason that ChangeAll reports.
func (r *Resolver) failureReason(ctx context.Context, err error) schema.LeadFailureReason {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return schema.LeadFailureReasonNotFound
	case errors.Is(err, errChanged):
		return schema.LeadFailureReasonConflict
	case errors.Is(err, errNotInReview):
		return schema.LeadFailureReasonNotInReview
	case errors.Is(err, errNothingToRetry):
		return schema.LeadFailureReasonNothingToRetry
	}
	if ctx.Err() == nil {
		r.Log.Error().Ctx(ctx).Err(err).Msg("cannot change one of several leads")
	}
	return schema.LeadFailureReasonUnavailable
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
		case !r.Leads.Queue.DeliversTo(target):
			return false, refused("Nothing is delivered to this target: it is not set up.")
		}

		err := r.resend(ctx, l.ID, target, email)
		if errors.Is(err, store.ErrUnderWay) && email == "" {
			return false, nil
		}
		if errors.Is(err, store.ErrUnderWay) {
			err = &schema.Error{
				Code:    schema.CodeConflict,
				Message: "The mail is under way: correct its address afterwards.",
			}
		}
		return err == nil, err
	}
}

// resend delivers a lead to a target again and records it in the audit. A non-empty email
// corrects the address of the visitor's mail.
func (r *Resolver) resend(ctx context.Context, leadID string, target lead.Target, email string) error {
	detail := map[string]any{"target": newTarget(target)}
	if email != "" {
		detail["corrected"] = true
	}
	if err := r.record(ctx, r.auditEntry(ctx, schema.AuditActionResent, leadID, detail)); err != nil {
		return err
	}
	return r.Leads.Store.ResendLead(ctx, leadID, target, email)
}

// Release ends the review of a lead or revokes its rejection, and delivers it.
func (r *Resolver) Release(expected lead.State) LeadChange {
	return r.decide(expected, func(ctx context.Context, id string) (bool, error) {
		entry := r.auditEntry(ctx, schema.AuditActionReleased, id, nil)
		return r.Leads.Store.Release(ctx, id, expected == lead.StateInReview, entry)
	})
}

// Reject ends the review of a lead so that it is never delivered.
func (r *Resolver) Reject(expected lead.State) LeadChange {
	return r.decide(expected, func(ctx context.Context, id string) (bool, error) {
		return r.Leads.Store.Reject(ctx, id, r.auditEntry(ctx, schema.AuditActionRejected, id, nil))
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

// Retry makes the failed and retrying deliveries of a lead due now.
func (r *Resolver) Retry(ctx context.Context, l lead.Lead) (bool, error) {
	unsent, err := r.Leads.Store.ListDeliveries(ctx, store.DeliveryFilter{
		Leads:  []string{l.ID},
		States: []lead.DeliveryState{lead.Failed, lead.Retrying},
	})
	if err == nil && len(unsent) == 0 {
		err = errNothingToRetry
	}
	for _, d := range unsent {
		if err := r.retry(ctx, d); err != nil {
			return false, err
		}
	}
	return err == nil, err
}

// AssignLead resolves the root field `assignLead`.
func (r *Resolver) AssignLead(ctx context.Context, id, owner string) (*schema.Lead, error) {
	var assigned []string
	l, err := r.Change(ctx, id, r.assign(owner, &assigned))
	r.Mails.NotifyOwner(ctx, crm.Address(owner), assigned)
	return l, err
}

// AssignLeads resolves the root field `assignLeads`.
func (r *Resolver) AssignLeads(ctx context.Context, ids []string, owner string) (*schema.LeadsChange, error) {
	var assigned []string
	sum, err := r.ChangeAll(ctx, ids, r.assign(owner, &assigned))
	r.Mails.NotifyOwner(ctx, crm.Address(owner), assigned)
	return sum, err
}

// assign assigns a lead to an owner, and adds it to assigned if the owner changed. The
// audit entry does not name the owner.
func (r *Resolver) assign(owner string, assigned *[]string) LeadChange {
	return func(ctx context.Context, l lead.Lead) (bool, error) {
		entry := r.auditEntry(ctx, schema.AuditActionAssigned, l.ID, map[string]any{"owned": owner != ""})
		changed, err := r.Leads.Store.Assign(ctx, l.ID, crm.Address(owner), entry)
		if changed {
			*assigned = append(*assigned, l.ID)
		}
		return changed, err
	}
}

// SetStatus sets the status of operators' work on a lead.
func (r *Resolver) SetStatus(status lead.Status) LeadChange {
	return func(ctx context.Context, l lead.Lead) (bool, error) {
		entry := r.auditEntry(ctx, schema.AuditActionStatus, l.ID, map[string]any{"status": status})
		return r.Leads.Store.SetStatus(ctx, l.ID, status, entry)
	}
}

// AddNote adds a note to a lead.
func (r *Resolver) AddNote(text string) LeadChange {
	return func(ctx context.Context, l lead.Lead) (bool, error) {
		entry := r.auditEntry(ctx, schema.AuditActionNote, l.ID, nil)
		note := lead.Note{Author: entry.Actor, At: entry.At, Text: schema.Clean(text)}
		err := r.Leads.Store.AddNote(ctx, l.ID, note, entry)
		if errors.Is(err, store.ErrTooManyNotes) {
			err = refused(fmt.Sprintf("The lead already has %d notes, the maximum.", store.MostNotes))
		}
		return true, err
	}
}

// SetOutcome sets the outcome of a lead. The audit entry has no amount.
func (r *Resolver) SetOutcome(value lead.OutcomeValue, amount *float64, currency string) LeadChange {
	return func(ctx context.Context, l lead.Lead) (bool, error) {
		if err := checkAmount(value, amount, currency); err != nil {
			return false, err
		}
		if !l.Released() {
			return false, errUnreleased
		}

		var detail map[string]any
		if value != "" {
			detail = map[string]any{"outcome": value}
		}
		entry := r.auditEntry(ctx, schema.AuditActionOutcome, l.ID, detail)
		outcome := lead.Outcome{
			Value:    value,
			Amount:   amount,
			Currency: currency,
			At:       entry.At.UTC().Truncate(time.Millisecond),
			By:       entry.Actor,
		}
		return true, r.Leads.Store.SetOutcome(ctx, l.ID, outcome, entry)
	}
}

// checkAmount checks the amount of a won lead.
func checkAmount(value lead.OutcomeValue, amount *float64, currency string) error {
	switch {
	case amount == nil && currency == "":
		return nil
	case amount == nil:
		return schema.BadInput(schema.Missing("amount", "is required with a currency"))
	case currency == "":
		return schema.BadInput(schema.Missing("currency", "is required with an amount"))
	case value != lead.Won:
		return schema.BadInput(schema.Conflict("amount", "outcome", "can only be given with WON"))

	case !price.Payable(*amount, currency):
		return schema.BadInput(schema.FieldError{
			Field:   "amount",
			Code:    schema.FieldCodeUnreadable,
			Message: "must be an amount of money with no more decimals than its currency has",
		})
	}
	return nil
}
