package operators

import (
	"context"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/schema"
)

// ResendLead resolves the root field of that name.
func (r *Resolver) ResendLead(ctx context.Context, id string, target queue.Target) (*schema.Lead, error) {
	return r.changeLead(ctx, "resendLead", id, func(l lead.Lead) error {
		detail := map[string]any{"target": strings.ToUpper(string(target))}
		if err := r.record(ctx, r.done(ctx, schema.AuditActionResent, l.ID, detail)); err != nil {
			return err
		}
		return r.Operators.Resend(ctx, l, target)
	})
}

// ReleaseLead resolves the root field of that name.
func (r *Resolver) ReleaseLead(ctx context.Context, id string, expected lead.State) (*schema.Lead, error) {
	return r.changeLead(ctx, "releaseLead", id, func(l lead.Lead) error {
		return r.Operators.Release(ctx, l, expected, r.done(ctx, schema.AuditActionReleased, l.ID, nil))
	})
}

// RejectLead resolves the root field of that name.
func (r *Resolver) RejectLead(ctx context.Context, id string, expected lead.State) (*schema.Lead, error) {
	return r.changeLead(ctx, "rejectLead", id, func(l lead.Lead) error {
		return r.Operators.Reject(ctx, l, expected, r.done(ctx, schema.AuditActionRejected, l.ID, nil))
	})
}

// WithdrawConsent resolves the root field of that name.
func (r *Resolver) WithdrawConsent(ctx context.Context, id, purpose string) (*schema.Lead, error) {
	return r.changeLead(ctx, "withdrawConsent", id, func(l lead.Lead) error {
		entry := r.done(ctx, schema.AuditActionWithdrawn, l.ID, map[string]any{"purpose": purpose})
		if err := r.record(ctx, entry); err != nil {
			return err
		}
		_, err := r.Operators.Withdraw(ctx, l.Contact.Email, purpose)
		return err
	})
}
