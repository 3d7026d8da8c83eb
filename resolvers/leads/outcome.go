package leads

import (
	"context"
	"time"

	"siteapi/integrations/lead"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// SetOutcome sets the outcome of a lead. The audit entry has no amount.
func (r *Resolver) SetOutcome(value lead.OutcomeValue, amount *float64, currency string) LeadChange {
	return func(ctx context.Context, l lead.Lead) (bool, error) {
		if err := checkAmount(value, amount, currency); err != nil {
			return false, err
		}
		if !l.Released() {
			return false, errUnreleased
		}

		var detail map[string]any
		if value != "" {
			detail = map[string]any{"outcome": value}
		}
		entry := r.Operators.Entry(ctx, schema.AuditActionOutcome, l.ID, detail)
		outcome := lead.Outcome{
			Value:    value,
			Amount:   amount,
			Currency: currency,
			At:       entry.At.UTC().Truncate(time.Millisecond),
			By:       entry.Actor,
		}
		return true, r.Store.SetOutcome(ctx, l.ID, outcome, entry)
	}
}

// checkAmount checks the amount of a won lead.
func checkAmount(value lead.OutcomeValue, amount *float64, currency string) error {
	switch {
	case amount == nil && currency == "":
		return nil
	case amount == nil:
		return schema.BadInput(schema.Missing("amount", "is required with a currency"))
	case currency == "":
		return schema.BadInput(schema.Missing("currency", "is required with an amount"))
	case value != lead.Won:
		return schema.BadInput(schema.Conflict("amount", "outcome", "can only be given with WON"))

	case !price.Payable(*amount, currency):
		return schema.BadInput(schema.Invalid("amount", schema.FieldCodeUnreadable,
			"must be an amount of money with no more decimals than its currency has"))
	}
	return nil
}

// newOutcome converts an outcome to the schema's type, or to nil if it is unknown.
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
