package operators

import (
	"context"
	"time"

	"siteapi/integrations/lead"
	"siteapi/schema"
)

// SetLeadOutcome resolves the root field of that name.
func (r *Resolver) SetLeadOutcome(
	ctx context.Context, id string, value lead.OutcomeValue, amount *float64, currency string,
) (*schema.Lead, error) {
	return r.changeLead(ctx, "setLeadOutcome", id, func(l lead.Lead) (bool, error) {
		entry := r.done(ctx, schema.AuditActionOutcome, l.ID, outcomeDetail(value))
		outcome := lead.Outcome{
			Value:    value,
			Amount:   amount,
			Currency: currency,
			At:       r.Now().UTC().Truncate(time.Millisecond),
			By:       entry.Actor,
		}
		return true, r.Leads.SetOutcome(ctx, l, outcome, entry)
	})
}

// outcomeDetail describes an outcome for the audit, without its amount. It is nil if the
// outcome was taken back.
func outcomeDetail(value lead.OutcomeValue) map[string]any {
	if value == "" {
		return nil
	}
	return map[string]any{"outcome": value}
}

// newOutcome returns an outcome as operators see it, nil if it is not known.
func newOutcome(o lead.Outcome) *schema.LeadOutcome {
	if o.Value == "" {
		return nil
	}

	shown := &schema.LeadOutcome{
		Value:    o.Value,
		Amount:   o.Amount,
		Currency: schema.Optional(o.Currency),
		At:       o.At,
		Source:   schema.LeadOutcomeSourceOperator,
		By:       schema.Optional(o.By),
	}
	if o.By == "" {
		shown.Source = schema.LeadOutcomeSourceCrm
	}
	return shown
}
