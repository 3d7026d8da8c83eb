package leads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/executor"
	"siteapi/schema"
)

// Errors of changes that the state of a lead does not allow.
var (
	errChanged = schema.NewError(schema.CodeConflict,
		"The state of the lead has changed in the meantime.")
	errNotInReview    = schema.BadRequest("The lead is not in review.")
	errUnreleased     = schema.BadRequest("The lead is in review or was rejected: release it first.")
	errNothingToRetry = schema.BadRequest("No delivery of the lead has failed or is waiting for " +
		"another attempt.")
)

// LeadChange changes a lead and reports whether anything changed.
type LeadChange = func(ctx context.Context, l lead.Lead) (changed bool, err error)

// change changes the lead with a name and returns it, even if nothing changes. It therefore
// records in the audit that the lead was read.
func (r *Resolver) change(ctx context.Context, name string, change LeadChange) (*schema.LeadPayload, error) {
	l, err := r.Find(ctx, name)
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
	return &schema.LeadPayload{Lead: newLead(l)}, nil
}

// namedLead is a lead with the name by which it was found.
type namedLead struct {
	name string
	lead.Lead
}

// changeAll changes leads one after the other, each once and with its own audit entry. It
// continues after a failure. Once the request has ended, the remaining changes fail. An
// address with several leads fails before any change.
func (r *Resolver) changeAll(
	ctx context.Context, names []string, change LeadChange,
) (*schema.LeadsPayload, error) {
	found, sum, err := r.findAll(ctx, names)
	if err != nil {
		return nil, err
	}

	var ids []string
	for _, l := range found {
		changed, err := change(ctx, l.Lead)
		if err != nil {
			sum.Failed = append(sum.Failed, r.failure(ctx, l.name, err))
			continue
		}
		if ids = append(ids, l.ID); changed {
			sum.Changed++
		}
	}
	return sum, r.show(ctx, sum, ids)
}

// findAll returns the leads with these names, each once, and a response that lists the others.
func (r *Resolver) findAll(
	ctx context.Context, names []string,
) (found []namedLead, sum *schema.LeadsPayload, err error) {
	sum = &schema.LeadsPayload{Leads: []*schema.Lead{}, Failed: []*schema.LeadFailure{}}
	known := map[string]bool{}
	for _, name := range names {
		l, err := r.Find(ctx, name)
		if refused, ok := errors.AsType[*schema.Error](err); ok && refused.Code == schema.CodeBadUserInput {
			return nil, nil, err
		}

		key := cmp.Or(l.ID, name)
		switch {
		case known[key]:
		case err != nil:
			sum.Failed = append(sum.Failed, r.failure(ctx, name, err))
		default:
			found = append(found, namedLead{name, l})
		}
		known[key] = true
	}
	return found, sum, nil
}

// show adds leads to the response, as many as fit into it, and records in the audit that
// they were read.
func (r *Resolver) show(ctx context.Context, sum *schema.LeadsPayload, ids []string) error {
	if len(ids) == 0 || !executor.Selects(ctx, "leads") {
		return nil
	}

	found, _, err := r.list(ctx, store.Filter{IDs: ids})
	if err != nil {
		return err
	}
	sum.Leads = newLeads(found)
	sum.Leads = sum.Leads[:executor.Fitting(ctx, "leads", sum.Leads)]

	if len(sum.Leads) == 1 {
		return r.Operators.RecordShown(ctx, schema.AuditActionOpened, sum.Leads[0].ID, nil)
	}
	return r.Operators.RecordShown(ctx, schema.AuditActionListed, "", map[string]any{"count": len(sum.Leads)})
}

// failure describes a lead that could not be changed.
func (r *Resolver) failure(ctx context.Context, name string, err error) *schema.LeadFailure {
	return &schema.LeadFailure{Lead: name, Reason: r.failureReason(ctx, err)}
}

// failureReason converts the error of one change to the reason that the response lists.
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

// AssignLeads resolves the root field `assignLeads`. It assigns either all leads that exist
// or, after an error, none.
func (r *Resolver) AssignLeads(
	ctx context.Context, names []string, to *string,
) (*schema.LeadsPayload, error) {
	owner := crm.Address(schema.ValueOr(to, ""))
	if err := r.Operators.CheckOwner(ctx, owner); err != nil {
		return nil, err
	}
	found, sum, err := r.findAll(ctx, names)
	if err != nil {
		return nil, err
	}

	ids := make([]string, len(found))
	for i, l := range found {
		ids[i] = l.ID
	}
	if sum.Changed, err = r.assign(ctx, ids, owner); err != nil {
		return nil, err
	}
	return sum, r.show(ctx, sum, ids)
}

// assign assigns leads to an owner, who is notified by one mail, and returns how many had
// another one.
func (r *Resolver) assign(ctx context.Context, ids []string, owner string) (int, error) {
	entries := make([]store.AuditEntry, len(ids))
	for i, id := range ids {
		entries[i] = r.Operators.Entry(ctx, schema.AuditActionAssigned, id, map[string]any{"owner": owner})
	}
	notify, err := r.Mails.NotifyOwner(ctx, owner)
	if err != nil {
		return 0, err
	}
	assigned, err := r.Store.Assign(ctx, ids, owner, notify, entries...)
	return len(assigned), err
}

// SetLeadStatuses resolves the root field `setLeadStatuses`.
func (r *Resolver) SetLeadStatuses(
	ctx context.Context, names []string, status lead.Status,
) (*schema.LeadsPayload, error) {
	return r.changeAll(ctx, names, func(ctx context.Context, l lead.Lead) (bool, error) {
		entry := r.Operators.Entry(ctx, schema.AuditActionStatus, l.ID, map[string]any{"status": status})
		return r.Store.SetStatus(ctx, l.ID, status, entry.At, entry)
	})
}

// SetLeadFollowUp resolves the root field `setLeadFollowUp`.
func (r *Resolver) SetLeadFollowUp(
	ctx context.Context, name string, at *time.Time,
) (*schema.LeadPayload, error) {
	if at != nil && at.Unix() <= 0 { // such a time is stored as none
		return nil, schema.BadInput(schema.Invalid("at", schema.FieldCodeUnreadable, "must be after 1970"))
	}
	return r.change(ctx, name, func(ctx context.Context, l lead.Lead) (bool, error) {
		entry := r.Operators.Entry(ctx, schema.AuditActionFollowUp, l.ID, map[string]any{"at": at})
		return r.Store.SetFollowUp(ctx, l.ID, schema.ValueOr(at, time.Time{}), entry)
	})
}

// MarkLeadAnswered resolves the root field `markLeadAnswered`.
func (r *Resolver) MarkLeadAnswered(ctx context.Context, name string) (*schema.LeadPayload, error) {
	return r.change(ctx, name, func(ctx context.Context, l lead.Lead) (bool, error) {
		entry := r.Operators.Entry(ctx, schema.AuditActionAnswered, l.ID, nil)
		return r.Store.SetAnswered(ctx, l.ID, entry.At, entry)
	})
}

// AddLeadNote resolves the root field `addLeadNote`.
func (r *Resolver) AddLeadNote(ctx context.Context, name, text string) (*schema.LeadPayload, error) {
	return r.change(ctx, name, func(ctx context.Context, l lead.Lead) (bool, error) {
		entry := r.Operators.Entry(ctx, schema.AuditActionNote, l.ID, nil)
		note := lead.Note{Author: entry.Actor, At: entry.At, Text: text}
		err := r.Store.AddNote(ctx, l.ID, note, entry)
		if errors.Is(err, store.ErrTooManyNotes) {
			err = schema.BadRequest(fmt.Sprintf("The lead already has %d notes, the maximum.",
				store.MostNotes))
		}
		return true, err
	})
}
