package operators

import (
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
		Message: "Somebody was faster: the lead is in another state now.",
	}
	errNotInReview    = refused("The lead is not in review.")
	errUnreleased     = refused("The lead is in review or was rejected: release it first.")
	errNothingToRetry = refused("None of the deliveries failed or waits for another attempt.")
)

// leadChange changes a lead, and reports whether there was something to change.
type leadChange = func(lead.Lead) (changed bool, err error)

// changeLead changes a lead and returns it as it is afterwards. It shows the lead even where
// there is nothing to change, so that it counts as opened, too.
func (r *Resolver) changeLead(ctx context.Context, id string, change leadChange) (*schema.Lead, error) {
	l, err := r.Leads.Find(ctx, id)
	if err != nil {
		return nil, coded(err)
	}
	if err := r.recordShown(ctx, schema.AuditActionOpened, l.ID, nil); err != nil {
		return nil, err
	}
	if _, err := change(l); err != nil {
		return nil, coded(err)
	}

	if l, err = r.Leads.Find(ctx, l.ID); err != nil {
		return nil, coded(err)
	}
	return r.shownLead(ctx, l)
}

// changeLeads changes leads one after the other, each with an entry of the audit of its own.
// What fails for one does not stop the others; the end of the request does. A repeated id
// counts once.
func (r *Resolver) changeLeads(ctx context.Context, ids []string, change leadChange) (*schema.LeadsChange, error) {
	sum := &schema.LeadsChange{Failed: []*schema.LeadFailure{}}
	seen := map[string]bool{}
	for _, id := range ids {
		l, err := r.Leads.Find(ctx, id)
		if err == nil && seen[l.ID] {
			continue
		}

		changed := false
		if err == nil {
			seen[l.ID] = true
			changed, err = change(l)
		}
		if err != nil {
			sum.Failed = append(sum.Failed, &schema.LeadFailure{ID: id, Reason: r.failureReason(ctx, err)})
		} else if changed {
			sum.Changed++
		}
	}
	return sum, nil
}

// failureReason translates the error of a change of one of several leads.
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
		r.Log.Error().Ctx(ctx).Err(err).Msg("changing one of several leads")
	}
	return schema.LeadFailureReasonUnavailable
}

// ResendLead resolves the root field of that name.
func (r *Resolver) ResendLead(ctx context.Context, id string, target lead.Target, email string) (*schema.Lead, error) {
	if email != "" && target != lead.VisitorMail {
		return nil, schema.BadInput(schema.Conflict("email", "target", "can only be given with VISITOR_MAIL"))
	}
	return r.changeLead(ctx, id, func(l lead.Lead) (bool, error) {
		switch {
		case !l.Released():
			return false, errUnreleased
		case !r.Leads.Queue.DeliversTo(target):
			return false, refused("Nothing is delivered to this target: it is not set up.")
		}

		err := r.resend(ctx, l.ID, target, email)
		switch {
		case !errors.Is(err, store.ErrUnderWay):
			return true, err
		case email == "":
			return false, nil
		}
		return false, &schema.Error{
			Code:    schema.CodeConflict,
			Message: "The mail is under way: correct its address when that has ended.",
		}
	})
}

// resend delivers a lead to a target once more, for the visitor's mail to a corrected address
// unless that is empty.
func (r *Resolver) resend(ctx context.Context, leadID string, target lead.Target, email string) error {
	detail := map[string]any{"target": newTarget(target)}
	if email != "" {
		detail["corrected"] = true
	}
	if err := r.record(ctx, r.done(ctx, schema.AuditActionResent, leadID, detail)); err != nil {
		return err
	}
	return r.Leads.Tables.ResendLead(ctx, leadID, target, email)
}

// ReleaseLead resolves the root field of that name.
func (r *Resolver) ReleaseLead(ctx context.Context, id string, expected lead.State) (*schema.Lead, error) {
	return r.changeLead(ctx, id, r.release(ctx, expected))
}

// ReleaseLeads resolves the root field of that name.
func (r *Resolver) ReleaseLeads(
	ctx context.Context, ids []string, all bool, expected lead.State,
) (*schema.LeadsChange, error) {
	ids, err := r.inReview(ctx, ids, all)
	if err != nil {
		return nil, err
	}
	release := r.release(ctx, expected)
	return r.changeLeads(ctx, ids, func(l lead.Lead) (bool, error) {
		released, err := release(l)
		if err == nil && !released {
			err = errNotInReview
		}
		return released, err
	})
}

// release ends the review of a lead, or takes back its rejection, and delivers it. The lead
// must be in the expected state; an empty one is any. The entry names the targets that the
// settings leave out.
func (r *Resolver) release(ctx context.Context, expected lead.State) leadChange {
	return func(l lead.Lead) (bool, error) {
		if expected != "" && l.State() != expected {
			return false, errChanged
		}

		var detail map[string]any
		if off := r.Leads.Queue.Off(); len(off) > 0 {
			detail = map[string]any{"off": off}
		}
		entry := r.done(ctx, schema.AuditActionReleased, l.ID, detail)
		released, err := r.Leads.Archive.Release(ctx, l.ID, expected == lead.StateInReview, entry)
		if err == nil && !released && (expected == lead.StateInReview || expected == lead.StateRejected) {
			err = errChanged // a moment ago
		}
		return released, err
	}
}

// inReview adds the leads in review to ids, if all of them are meant, which is for an admin.
func (r *Resolver) inReview(ctx context.Context, ids []string, all bool) ([]string, error) {
	if !all {
		return ids, nil
	}
	if schema.CallerFrom(ctx).Operator.Role != schema.RoleAdmin {
		return nil, forbidden(schema.RoleAdmin)
	}
	found, _, err := r.Leads.Leads(ctx, store.Filter{InReview: true})
	return append(ids, leads.IDs(found)...), coded(err)
}

// RejectLead resolves the root field of that name.
func (r *Resolver) RejectLead(ctx context.Context, id string, expected lead.State) (*schema.Lead, error) {
	return r.changeLead(ctx, id, r.reject(ctx, expected))
}

// RejectLeads resolves the root field of that name.
func (r *Resolver) RejectLeads(
	ctx context.Context, ids []string, all bool, expected lead.State,
) (*schema.LeadsChange, error) {
	ids, err := r.inReview(ctx, ids, all)
	if err != nil {
		return nil, err
	}
	return r.changeLeads(ctx, ids, r.reject(ctx, expected))
}

// reject ends the review of a lead so that it is never delivered. The lead must be in the
// expected state; an empty one is any.
func (r *Resolver) reject(ctx context.Context, expected lead.State) leadChange {
	return func(l lead.Lead) (bool, error) {
		if expected != "" && l.State() != expected {
			return false, errChanged
		}

		rejected, err := r.Leads.Archive.Reject(ctx, l.ID, r.done(ctx, schema.AuditActionRejected, l.ID, nil))
		switch {
		case err != nil || rejected:
			return rejected, err
		case expected == lead.StateInReview: // it was a moment ago
			return false, errChanged
		}
		return false, errNotInReview
	}
}

// RetryLeads resolves the root field of that name.
func (r *Resolver) RetryLeads(ctx context.Context, ids []string) (*schema.LeadsChange, error) {
	return r.changeLeads(ctx, ids, func(l lead.Lead) (bool, error) {
		unsent, err := r.Leads.Tables.ListDeliveries(ctx, store.DeliveryFilter{
			Leads:  []string{l.ID},
			States: []lead.DeliveryState{lead.Failed, lead.Retrying},
		})
		if err == nil && len(unsent) == 0 {
			err = errNothingToRetry
		}
		if err != nil {
			return false, err
		}

		for _, d := range unsent {
			if err := r.retry(ctx, d); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// AssignLead resolves the root field of that name.
func (r *Resolver) AssignLead(ctx context.Context, id, owner string) (*schema.Lead, error) {
	owner = crm.Address(owner)
	var given []string
	l, err := r.changeLead(ctx, id, r.assign(ctx, owner, &given))
	r.Mails.NotifyOwner(ctx, owner, given)
	return l, err
}

// AssignLeads resolves the root field of that name.
func (r *Resolver) AssignLeads(ctx context.Context, ids []string, owner string) (*schema.LeadsChange, error) {
	owner = crm.Address(owner)
	var given []string
	sum, err := r.changeLeads(ctx, ids, r.assign(ctx, owner, &given))
	r.Mails.NotifyOwner(ctx, owner, given)
	return sum, err
}

// assign gives a lead to an owner, and adds it to given if it was another's. The entry of the
// audit does not name the owner.
func (r *Resolver) assign(ctx context.Context, owner string, given *[]string) leadChange {
	return func(l lead.Lead) (bool, error) {
		entry := r.done(ctx, schema.AuditActionAssigned, l.ID, map[string]any{"owned": owner != ""})
		changed, err := r.Leads.Tables.Assign(ctx, l.ID, owner, entry)
		if changed {
			*given = append(*given, l.ID)
		}
		return changed, err
	}
}

// SetLeadStatus resolves the root field of that name.
func (r *Resolver) SetLeadStatus(ctx context.Context, id string, status lead.Status) (*schema.Lead, error) {
	return r.changeLead(ctx, id, r.setStatus(ctx, status))
}

// SetLeadStatuses resolves the root field of that name.
func (r *Resolver) SetLeadStatuses(
	ctx context.Context, ids []string, status lead.Status,
) (*schema.LeadsChange, error) {
	return r.changeLeads(ctx, ids, r.setStatus(ctx, status))
}

func (r *Resolver) setStatus(ctx context.Context, status lead.Status) leadChange {
	return func(l lead.Lead) (bool, error) {
		entry := r.done(ctx, schema.AuditActionStatus, l.ID, map[string]any{"status": status})
		return r.Leads.Tables.SetStatus(ctx, l.ID, status, entry)
	}
}

// AddLeadNote resolves the root field of that name.
func (r *Resolver) AddLeadNote(ctx context.Context, id, text string) (*schema.Lead, error) {
	return r.changeLead(ctx, id, func(l lead.Lead) (bool, error) {
		entry := r.done(ctx, schema.AuditActionNote, l.ID, nil)
		note := lead.Note{Author: entry.Actor, At: entry.At, Text: schema.UnixLines(text)}
		err := r.Leads.Tables.AddNote(ctx, l.ID, note, entry)
		if errors.Is(err, store.ErrTooManyNotes) {
			err = refused(fmt.Sprintf("The lead has %d notes, which is as many as it may have.", store.MostNotes))
		}
		return true, err
	})
}

// SetLeadOutcome resolves the root field of that name. The entry has no amount.
func (r *Resolver) SetLeadOutcome(
	ctx context.Context, id string, value lead.OutcomeValue, amount *float64, currency string,
) (*schema.Lead, error) {
	if problem := checkAmount(value, amount, currency); problem != nil {
		return nil, schema.BadInput(*problem)
	}
	return r.changeLead(ctx, id, func(l lead.Lead) (bool, error) {
		if !l.Released() {
			return false, errUnreleased
		}

		var detail map[string]any
		if value != "" {
			detail = map[string]any{"outcome": value}
		}
		entry := r.done(ctx, schema.AuditActionOutcome, l.ID, detail)
		outcome := lead.Outcome{
			Value:    value,
			Amount:   amount,
			Currency: currency,
			At:       entry.At.UTC().Truncate(time.Millisecond),
			By:       entry.Actor,
		}
		return true, r.Leads.Tables.SetOutcome(ctx, l.ID, outcome, entry)
	})
}

// checkAmount checks what a won lead brings.
func checkAmount(value lead.OutcomeValue, amount *float64, currency string) *schema.FieldError {
	var problem schema.FieldError
	switch {
	case amount == nil && currency == "":
		return nil
	case amount == nil:
		problem = schema.Missing("amount", "is required with a currency")
	case currency == "":
		problem = schema.Missing("currency", "is required with an amount")
	case value != lead.Won:
		problem = schema.Conflict("amount", "outcome", "can only be given with WON")
	case !price.Payable(*amount, currency):
		problem = schema.FieldError{
			Field:   "amount",
			Code:    schema.FieldCodeUnreadable,
			Message: "must be an amount of money with no more decimals than its currency has",
		}
	default:
		return nil
	}
	return &problem
}
