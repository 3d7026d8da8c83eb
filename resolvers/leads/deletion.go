package leads

import (
	"context"
	"slices"

	"siteapi/integrations/lead"
	"siteapi/schema"
)

// DeclineDeletion resolves the root field `declineDeletion`. The reason may name the visitor,
// so it is stored with the lead and not in the audit.
func (r *Resolver) DeclineDeletion(
	ctx context.Context, name, reason string,
) (*schema.DeclinedDeletion, error) {
	changed, err := r.change(ctx, name, func(ctx context.Context, l lead.Lead) (bool, error) {
		entry := r.Operators.Entry(ctx, schema.AuditActionDeletionDeclined, l.ID, nil)
		declined, err := r.Store.DeclineDeletion(ctx, &l, reason, entry.At, entry)
		if err == nil && !declined {
			err = schema.BadRequest("The visitor has no open request for the deletion of this lead.")
		}
		return declined, err
	})
	if err != nil {
		return nil, err
	}

	// An address that gets no mails does not get this one.
	noMail := schema.ValueOr(changed.Lead.NoMailReason, "")
	return &schema.DeclinedDeletion{
		Lead: changed.Lead,
		Mailed: noMail != lead.NoMailbox && noMail != lead.TestAddress &&
			slices.ContainsFunc(changed.Lead.Deliveries, func(d *schema.Delivery) bool {
				return d.Event == lead.DeletionDeclined && d.Target == lead.VisitorMail
			}),
	}, nil
}
