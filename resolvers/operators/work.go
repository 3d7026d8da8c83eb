package operators

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// AssignLead resolves the root field of that name.
func (r *Resolver) AssignLead(ctx context.Context, id, owner string) (*schema.Lead, error) {
	owner = crm.Address(owner)
	return r.changeLead(ctx, "assignLead", id, func(l lead.Lead) error {
		changed, err := r.Operators.Work.Assign(ctx, l.ID, owner, r.assigned(ctx, l.ID, owner))
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
	ctx context.Context, id string, status schema.LeadStatus,
) (*schema.Lead, error) {
	return r.changeLead(ctx, "setLeadStatus", id, func(l lead.Lead) error {
		entry := r.done(ctx, schema.AuditActionStatus, l.ID, map[string]any{"status": status})
		_, err := r.Operators.Work.SetStatus(ctx, l.ID, lead.Status(status), entry)
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
		return r.Operators.Work.AddNote(ctx, l.ID, note, r.done(ctx, schema.AuditActionNote, l.ID, nil))
	})
}

// newLeadCounts adds up what was counted.
func newLeadCounts(counts []store.WorkCount) *schema.LeadCounts {
	sum := &schema.LeadCounts{States: []*schema.LeadStateCount{}, Statuses: []*schema.LeadStatusCount{}}
	states, statuses := map[lead.State]int{}, map[lead.Status]int{}
	for _, c := range counts {
		alike := lead.Lead{InReview: c.InReview, Rejected: c.Rejected, Progress: c.Progress}
		states[alike.State()] += int(c.Number)
		statuses[c.Status] += int(c.Number)
		sum.Total += int(c.Number)
	}

	for _, state := range lead.States() {
		if n := states[state]; n > 0 {
			sum.States = append(sum.States, &schema.LeadStateCount{State: schema.LeadState(state), Count: n})
		}
	}
	for _, status := range lead.Statuses() {
		if n := statuses[status]; n > 0 {
			sum.Statuses = append(sum.Statuses, &schema.LeadStatusCount{Status: schema.LeadStatus(status), Count: n})
		}
	}
	return sum
}

// positionText returns the place of a lead in a list, for a cursor. It holds no more of the
// id than the reference shows: a position between two ids would tell which is smaller.
func positionText(f store.Filter, l lead.Lead) string {
	text := fmt.Sprint(l.SubmittedAt.UnixMilli(), " ", shortID(l.ID))
	if f.ByAmount {
		return strconv.FormatFloat(l.Estimate.Min, 'g', -1, 64) + " " + text
	}
	return text
}

// parsePosition reads the place of a lead in a list, or fails.
func parsePosition(f store.Filter, text string) (*store.Position, error) {
	var at store.Position
	var err error

	if f.ByAmount {
		amount, rest, _ := strings.Cut(text, " ")
		if at.Amount, err = strconv.ParseFloat(amount, 64); err != nil || math.IsNaN(at.Amount) {
			return nil, badCursor()
		}
		text = rest
	}

	number, id, _ := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !idForm.MatchString(id) {
		return nil, badCursor()
	}
	at.SubmittedAt, at.ID = time.UnixMilli(ms), shortID(id)
	if !f.Newest {
		at.ID += "~" // sorts after all ids that begin like this
	}
	return &at, nil
}

// mostSameAddress is how many other leads of an address are shown on a lead.
const mostSameAddress = 20

// SameAddress resolves the field of that name.
func (r *Resolver) SameAddress(ctx context.Context, of *schema.Lead) ([]*schema.Lead, error) {
	found, _, err := r.Operators.Leads(ctx, store.Filter{
		Email:  of.Contact.Email,
		Newest: true,
		Limit:  mostSameAddress + 1,
	}, "")
	if err != nil {
		return nil, operatorError(err)
	}

	found = slices.DeleteFunc(found, func(l lead.Lead) bool { return l.ID == of.ID })
	found = found[:min(mostSameAddress, len(found))]
	for _, l := range found {
		if err := r.recordOpened(ctx, l.ID); err != nil {
			return nil, err
		}
	}
	return r.shownLeads(ctx, found...)
}
