package operators

import (
	"context"

	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// EraseLeads resolves the root field of that name.
func (r *Resolver) EraseLeads(
	ctx context.Context, email string, dryRun bool,
) (*schema.ErasureReceipt, error) {
	found, _, err := r.Leads.Leads(ctx, store.Filter{Email: email}, "")
	if err != nil {
		return nil, coded(err)
	}

	// A preview erases nothing, and reads what `leads` would show.
	field := "eraseLeads"
	if dryRun {
		field = "leads"
		detail := FilterDetail(store.Filter{Email: email}, "", len(found))
		err = r.record(ctx, r.done(ctx, schema.AuditActionListed, "", detail))
	}
	if err != nil {
		return nil, err
	}
	r.logAudit(ctx, field, leadIDs(found)...)

	entry := r.done(ctx, schema.AuditActionErased, "", nil)
	receipt, err := r.Leads.Erase(ctx, email, dryRun, r.Audit, entry)
	if err != nil {
		return nil, coded(err)
	}
	return NewReceipt(receipt), nil
}

// NewReceipt returns the receipt of an erasure as operators see it.
func NewReceipt(r *leads.Receipt) *schema.ErasureReceipt {
	shown := &schema.ErasureReceipt{
		Email:    r.Email,
		DryRun:   r.DryRun,
		Complete: r.Complete,
		Remains:  r.Remains,
	}

	for _, p := range r.Places {
		shown.Places = append(shown.Places, &schema.ErasurePlace{
			Place:  p.Name,
			Unit:   p.Unit,
			Found:  p.Found,
			Erased: p.Erased,
			State:  string(p.State),
			Detail: schema.Optional(p.Detail),
		})
	}
	return shown
}
