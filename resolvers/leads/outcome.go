package leads

import (
	"context"
	"time"

	"siteapi/integrations/lead"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// SetLeadOutcome resolves the root field `setLeadOutcome`.
func (r *Resolver) SetLeadOutcome(
	ctx context.Context, name string, outcome *lead.OutcomeValue, amount *float64, code *string,
	lossReason *lead.LossReason, lossNote *string,
) (*schema.LeadPayload, error) {
	value, currency := schema.ValueOr(outcome, ""), schema.ValueOr(code, "")
	return r.change(ctx, name, func(ctx context.Context, l lead.Lead) (bool, error) {
		if err := checkAmount(value, amount, currency); err != nil {
			return false, err
		}
		if value != lead.Lost && lossReason != nil {
			return false, schema.BadInput(
				schema.Conflict("lossReason", "outcome", "can only be given with LOST"))
		}
		if value != lead.Lost && lossNote != nil {
			return false, schema.BadInput(
				schema.Conflict("lossNote", "outcome", "can only be given with LOST"))
		}
		if !l.Released() {
			return false, errUnreleased
		}

		detail := map[string]any{}
		if value != "" {
			detail["outcome"] = value
		}
		if amount != nil {
			detail["amount"], detail["currency"] = *amount, currency
		}
		if lossReason != nil {
			detail["lossReason"] = *lossReason
		}
		entry := r.Operators.Entry(ctx, schema.AuditActionOutcome, l.ID, detail)
		outcome := lead.Outcome{
			Value:      value,
			Amount:     amount,
			Currency:   currency,
			LossReason: schema.ValueOr(lossReason, ""),
			LossNote:   schema.ValueOr(lossNote, ""),
			At:         entry.At.UTC().Truncate(time.Millisecond),
			By:         entry.Actor,
		}
		return true, r.Store.SetOutcome(ctx, l.ID, outcome, entry)
	})
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
		Value:      o.Value,
		Amount:     o.Amount,
		Currency:   schema.Optional(o.Currency),
		LossReason: schema.Optional(o.LossReason),
		LossNote:   schema.Optional(o.LossNote),
		At:         o.At,
		Source:     schema.LeadOutcomeSourceOperator,
		By:         schema.Optional(o.By),
	}
	if o.By == "" {
		shown.Source = schema.LeadOutcomeSourceCrm
	}
	return shown
}
