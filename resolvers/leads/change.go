package leads

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// Errors of changes that the state of a lead does not allow.
var (
	errChanged        = schema.NewError(schema.CodeConflict, "The state of the lead has changed in the meantime.")
	errNotInReview    = schema.BadRequest("The lead is not in review.")
	errUnreleased     = schema.BadRequest("The lead is in review or was rejected: release it first.")
	errNothingToRetry = schema.BadRequest("No delivery of the lead has failed or is waiting for another attempt.")
)

// LeadChange changes a lead and reports whether anything changed.
type LeadChange = func(ctx context.Context, l lead.Lead) (changed bool, err error)

// Change changes a lead and returns it, even if nothing changes. It therefore records in
// the audit that the lead was read.
func (r *Resolver) Change(ctx context.Context, id string, change LeadChange) (*schema.Lead, error) {
	l, err := r.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := r.Operators.RecordShown(ctx, schema.AuditActionOpened, l.ID, nil); err != nil {
		return nil, err
	}
	if _, err := change(ctx, l); err != nil {
		return nil, err
	}

	if l, err = r.Find(ctx, l.ID); err != nil {
		return nil, err
	}
	return newLead(l), nil
}

// ChangeAll changes leads one after the other, each once and with its own audit entry. It
// continues after a failure. Once the request has ended, the remaining changes fail. An
// address with several leads fails before any change.
func (r *Resolver) ChangeAll(ctx context.Context, names []string, change LeadChange) (*schema.LeadsChange, error) {
	sum := &schema.LeadsChange{Failed: []*schema.LeadFailure{}}
	fail := func(name string, err error) {
		sum.Failed = append(sum.Failed, &schema.LeadFailure{ID: name, Reason: r.failureReason(ctx, err)})
	}

	var found []lead.Lead
	given := map[string]string{} // names by the id of their lead
	for _, name := range names {
		l, err := r.Find(ctx, name)
		if known, ok := errors.AsType[*schema.Error](err); ok && known.Code == schema.CodeBadUserInput {
			return nil, err
		}

		key := cmp.Or(l.ID, name)
		if given[key] != "" {
			continue
		}
		given[key] = name
		if err != nil {
			fail(name, err)
			continue
		}
		found = append(found, l)
	}

	for _, l := range found {
		changed, err := change(ctx, l)
		if err != nil {
			fail(given[l.ID], err)
		} else if changed {
			sum.Changed++
		}
	}
	return sum, nil
}

// failureReason converts the error of one change to the reason that ChangeAll reports.
func (r *Resolver) failureReason(ctx context.Context, err error) schema.LeadFailureReason {
	switch {
	case isNotFound(err):
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

// AssignLead resolves the root field `assignLead`.
func (r *Resolver) AssignLead(ctx context.Context, id, owner string) (*schema.Lead, error) {
	owner = crm.Address(owner)
	return r.Change(ctx, id, func(ctx context.Context, l lead.Lead) (bool, error) {
		if err := r.Operators.CheckOwner(ctx, owner); err != nil {
			return false, err
		}
		assigned, err := r.assign(ctx, []string{l.ID}, owner)
		return assigned > 0, err
	})
}

// AssignLeads resolves the root field `assignLeads`. It assigns either all leads that exist
// or, after an error, none.
func (r *Resolver) AssignLeads(ctx context.Context, ids []string, owner string) (*schema.LeadsChange, error) {
	owner = crm.Address(owner)
	if err := r.Operators.CheckOwner(ctx, owner); err != nil {
		return nil, err
	}

	var found []string
	sum, err := r.ChangeAll(ctx, ids, func(_ context.Context, l lead.Lead) (bool, error) {
		found = append(found, l.ID)
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	sum.Changed, err = r.assign(ctx, found, owner)
	return sum, err
}

// assign assigns leads to an owner, who is notified by one mail, and returns how many had
// another one.
func (r *Resolver) assign(ctx context.Context, ids []string, owner string) (int, error) {
	entries := make([]store.AuditEntry, len(ids))
	for i, id := range ids {
		entries[i] = r.Operators.Entry(ctx, schema.AuditActionAssigned, id, map[string]any{"owner": owner})
	}
	assigned, err := r.Store.Assign(ctx, ids, owner, r.Mails.NotifyOwner(ctx, owner), entries...)
	return len(assigned), err
}

// SetStatus sets the status of operators' work on a lead.
func (r *Resolver) SetStatus(status lead.Status) LeadChange {
	return func(ctx context.Context, l lead.Lead) (bool, error) {
		entry := r.Operators.Entry(ctx, schema.AuditActionStatus, l.ID, map[string]any{"status": status})
		return r.Store.SetStatus(ctx, l.ID, status, entry)
	}
}

// AddNote adds a note to a lead.
func (r *Resolver) AddNote(text string) LeadChange {
	return func(ctx context.Context, l lead.Lead) (bool, error) {
		entry := r.Operators.Entry(ctx, schema.AuditActionNote, l.ID, nil)
		note := lead.Note{Author: entry.Actor, At: entry.At, Text: text}
		err := r.Store.AddNote(ctx, l.ID, note, entry)
		if errors.Is(err, store.ErrTooManyNotes) {
			err = schema.BadRequest(fmt.Sprintf("The lead already has %d notes, the maximum.", store.MostNotes))
		}
		return true, err
	}
}
