package leads

import (
	"context"
	"errors"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/price"
)

// Errors of outcomes whose parts don't fit together.
var (
	ErrAmountNotWon = errors.New("only a lead that is won has an amount")
	ErrNoCurrency   = errors.New("the amount has no currency")
	ErrNoAmount     = errors.New("the currency has no amount")
	ErrNoMinorUnit  = errors.New("the amount has more decimals than the currency, or that is none of money")
)

// SetOutcome stores what an operator says became of a lead. An outcome without a value takes
// back what is known.
func (s *Service) SetOutcome(
	ctx context.Context, l lead.Lead, o lead.Outcome, audit store.AuditEntry,
) error {
	switch {
	case !l.Released():
		return ErrUnreleased
	case o.Amount != nil && o.Currency == "":
		return ErrNoCurrency
	case o.Amount == nil && o.Currency != "":
		return ErrNoAmount
	case o.Amount != nil && o.Value != lead.Won:
		return ErrAmountNotWon
	case o.Amount != nil && !price.Payable(*o.Amount, o.Currency):
		return ErrNoMinorUnit
	}
	return s.Outcomes.SetOutcome(ctx, l.ID, o, audit)
}
