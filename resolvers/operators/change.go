package operators

import (
	"context"
	"strings"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// changeLead changes a lead and returns it as it is afterwards. It shows the lead even where
// there is nothing to change, so that it counts as opened, too.
func (r *Resolver) changeLead(
	ctx context.Context, field, id string, change func(lead.Lead) error,
) (*schema.Lead, error) {
	l, err := r.Leads.Find(ctx, id)
	if err == nil {
		r.logAudit(ctx, field, l.ID)
		err = r.recordShown(ctx, schema.AuditActionOpened, l.ID, nil)
	}
	if err == nil {
		err = change(l)
	}

	if err == nil {
		l, err = r.Leads.Find(ctx, l.ID)
	}
	if err != nil {
		return nil, coded(err)
	}

	shown, err := r.shownLeads(ctx, l)
	if err != nil {
		return nil, err
	}
	return shown[0], nil
}

// ResendLead resolves the root field of that name.
func (r *Resolver) ResendLead(ctx context.Context, id string, target lead.Target, email string) (*schema.Lead, error) {
	if email != "" && target != lead.VisitorMail {
		return nil, schema.BadInput(schema.Conflict("email", "target", "can only be given with VISITOR_MAIL"))
	}
	return r.changeLead(ctx, "resendLead", id, func(l lead.Lead) error {
		if err := r.Leads.CanResend(l, target); err != nil {
			return err
		}
		detail := map[string]any{"target": strings.ToUpper(string(target))}
		if email != "" {
			detail["corrected"] = true
		}
		if err := r.record(ctx, r.done(ctx, schema.AuditActionResent, l.ID, detail)); err != nil {
			return err
		}
		return r.Leads.Resend(ctx, l, target, email)
	})
}

// ReleaseLead resolves the root field of that name.
func (r *Resolver) ReleaseLead(ctx context.Context, id string, expected lead.State) (*schema.Lead, error) {
	return r.changeLead(ctx, "releaseLead", id, func(l lead.Lead) error {
		return r.Leads.Release(ctx, l, expected, r.released(ctx, l.ID))
	})
}

// released is the entry of a released lead. It names the targets that the settings leave out.
func (r *Resolver) released(ctx context.Context, id string) store.AuditEntry {
	var detail map[string]any
	if off := r.Leads.Queue.Off(); len(off) > 0 {
		detail = map[string]any{"off": off}
	}
	return r.done(ctx, schema.AuditActionReleased, id, detail)
}

// RejectLead resolves the root field of that name.
func (r *Resolver) RejectLead(ctx context.Context, id string, expected lead.State) (*schema.Lead, error) {
	return r.changeLead(ctx, "rejectLead", id, func(l lead.Lead) error {
		return r.Leads.Reject(ctx, l, expected, r.done(ctx, schema.AuditActionRejected, l.ID, nil))
	})
}

// AssignLead resolves the root field of that name.
func (r *Resolver) AssignLead(ctx context.Context, id, owner string) (*schema.Lead, error) {
	owner = crm.Address(owner)
	return r.changeLead(ctx, "assignLead", id, func(l lead.Lead) error {
		changed, err := r.Leads.Work.Assign(ctx, l.ID, owner, r.assigned(ctx, l.ID, owner))
		if changed {
			r.Mails.TellOwner(ctx, owner, []string{l.ID})
		}
		return err
	})
}

// assigned returns the entry of the audit for an assignment. It does not name the owner.
func (r *Resolver) assigned(ctx context.Context, id, owner string) store.AuditEntry {
	return r.done(ctx, schema.AuditActionAssigned, id, map[string]any{"owned": owner != ""})
}

// SetLeadStatus resolves the root field of that name.
func (r *Resolver) SetLeadStatus(
	ctx context.Context, id string, status lead.Status,
) (*schema.Lead, error) {
	return r.changeLead(ctx, "setLeadStatus", id, func(l lead.Lead) error {
		entry := r.done(ctx, schema.AuditActionStatus, l.ID, map[string]any{"status": status})
		_, err := r.Leads.Work.SetStatus(ctx, l.ID, status, entry)
		return err
	})
}

// AddLeadNote resolves the root field of that name.
func (r *Resolver) AddLeadNote(ctx context.Context, id, text string) (*schema.Lead, error) {
	return r.changeLead(ctx, "addLeadNote", id, func(l lead.Lead) error {
		note := lead.Note{
			Author: schema.CallerFrom(ctx).Operator.Actor,
			At:     r.Now(),
			Text:   schema.UnixLines(text),
		}
		return r.Leads.Work.AddNote(ctx, l.ID, note, r.done(ctx, schema.AuditActionNote, l.ID, nil))
	})
}
