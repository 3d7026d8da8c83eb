package operators

import (
	"context"
	"strings"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/schema"
)

// leadChange changes a lead, and reports whether there was something to change.
type leadChange = func(lead.Lead) (changed bool, err error)

// changeLead changes a lead and returns it as it is afterwards. It shows the lead even where
// there is nothing to change, so that it counts as opened, too.
func (r *Resolver) changeLead(
	ctx context.Context, field, id string, change leadChange,
) (*schema.Lead, error) {
	l, err := r.Leads.Find(ctx, id)
	if err == nil {
		r.logAudit(ctx, field, l.ID)
		err = r.recordShown(ctx, schema.AuditActionOpened, l.ID, nil)
	}
	if err == nil {
		_, err = change(l)
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
	return r.changeLead(ctx, "resendLead", id, func(l lead.Lead) (bool, error) {
		if err := r.Leads.CanResend(l, target); err != nil {
			return false, err
		}
		detail := map[string]any{"target": strings.ToUpper(string(target))}
		if email != "" {
			detail["corrected"] = true
		}
		if err := r.record(ctx, r.done(ctx, schema.AuditActionResent, l.ID, detail)); err != nil {
			return false, err
		}
		return true, r.Leads.Resend(ctx, l, target, email)
	})
}

// ReleaseLead resolves the root field of that name.
func (r *Resolver) ReleaseLead(ctx context.Context, id string, expected lead.State) (*schema.Lead, error) {
	return r.changeLead(ctx, "releaseLead", id, r.release(ctx, expected))
}

// release releases a lead. The entry names the targets that the settings leave out.
func (r *Resolver) release(ctx context.Context, expected lead.State) leadChange {
	return func(l lead.Lead) (bool, error) {
		var detail map[string]any
		if off := r.Leads.Queue.Off(); len(off) > 0 {
			detail = map[string]any{"off": off}
		}
		err := r.Leads.Release(ctx, l, expected, r.done(ctx, schema.AuditActionReleased, l.ID, detail))
		return err == nil, err
	}
}

// RejectLead resolves the root field of that name.
func (r *Resolver) RejectLead(ctx context.Context, id string, expected lead.State) (*schema.Lead, error) {
	return r.changeLead(ctx, "rejectLead", id, r.reject(ctx, expected))
}

func (r *Resolver) reject(ctx context.Context, expected lead.State) leadChange {
	return func(l lead.Lead) (bool, error) {
		err := r.Leads.Reject(ctx, l, expected, r.done(ctx, schema.AuditActionRejected, l.ID, nil))
		return err == nil, err
	}
}

// AssignLead resolves the root field of that name.
func (r *Resolver) AssignLead(ctx context.Context, id, owner string) (*schema.Lead, error) {
	owner = crm.Address(owner)
	var given []string
	l, err := r.changeLead(ctx, "assignLead", id, r.assign(ctx, owner, &given))
	r.Mails.NotifyOwner(ctx, owner, given)
	return l, err
}

// assign gives a lead to an owner, and adds it to given if it was another's. The entry of the
// audit does not name the owner.
func (r *Resolver) assign(ctx context.Context, owner string, given *[]string) leadChange {
	return func(l lead.Lead) (bool, error) {
		entry := r.done(ctx, schema.AuditActionAssigned, l.ID, map[string]any{"owned": owner != ""})
		changed, err := r.Leads.Work.Assign(ctx, l.ID, owner, entry)
		if changed {
			*given = append(*given, l.ID)
		}
		return changed, err
	}
}

// SetLeadStatus resolves the root field of that name.
func (r *Resolver) SetLeadStatus(
	ctx context.Context, id string, status lead.Status,
) (*schema.Lead, error) {
	return r.changeLead(ctx, "setLeadStatus", id, r.setStatus(ctx, status))
}

func (r *Resolver) setStatus(ctx context.Context, status lead.Status) leadChange {
	return func(l lead.Lead) (bool, error) {
		entry := r.done(ctx, schema.AuditActionStatus, l.ID, map[string]any{"status": status})
		return r.Leads.Work.SetStatus(ctx, l.ID, status, entry)
	}
}

// AddLeadNote resolves the root field of that name.
func (r *Resolver) AddLeadNote(ctx context.Context, id, text string) (*schema.Lead, error) {
	return r.changeLead(ctx, "addLeadNote", id, func(l lead.Lead) (bool, error) {
		note := lead.Note{
			Author: schema.CallerFrom(ctx).Operator.Actor,
			At:     r.Now(),
			Text:   schema.UnixLines(text),
		}
		return true, r.Leads.Work.AddNote(ctx, l.ID, note, r.done(ctx, schema.AuditActionNote, l.ID, nil))
	})
}
