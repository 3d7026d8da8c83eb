package operators

import (
	"errors"
	"fmt"

	"siteapi/integrations/store"
	"siteapi/resolvers/apierror"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// coded turns the errors of package leads into coded errors.
func coded(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return schema.NotFound("There is no such lead.")
	case errors.Is(err, leads.ErrChanged):
		return &schema.Error{
			Code:    schema.CodeConflict,
			Message: "Somebody was faster: the lead is in another state now.",
		}
	case errors.Is(err, store.ErrUnderWay):
		return &schema.Error{
			Code:    schema.CodeConflict,
			Message: "The mail is under way: correct its address when that has ended.",
		}
	case errors.Is(err, leads.ErrNotInReview):
		return &schema.Error{Code: schema.CodeBadUserInput, Message: "The lead is not in review."}
	case errors.Is(err, leads.ErrNotGiven):
		return &schema.Error{
			Code:    schema.CodeBadUserInput,
			Message: "The address has not given this consent, or has withdrawn it.",
		}
	case errors.Is(err, leads.ErrAmountNotWon):
		return schema.BadInput(schema.Conflict("amount", "outcome", "can only be given with WON"))
	case errors.Is(err, leads.ErrNoCurrency):
		return schema.BadInput(schema.Missing("currency", "is required with an amount"))
	case errors.Is(err, leads.ErrNoAmount):
		return schema.BadInput(schema.Missing("amount", "is required with a currency"))
	case errors.Is(err, leads.ErrNoMinorUnit):
		return schema.BadInput(schema.FieldError{
			Field:   "amount",
			Code:    schema.FieldCodeUnreadable,
			Message: "must be an amount of money with no more decimals than its currency has",
		})
	case errors.Is(err, leads.ErrUnreleased):
		return &schema.Error{
			Code:    schema.CodeBadUserInput,
			Message: "The lead is in review or was rejected: release it first.",
		}
	case errors.Is(err, store.ErrTooManyNotes):
		return &schema.Error{
			Code:    schema.CodeBadUserInput,
			Message: fmt.Sprintf("The lead has %d notes, which is as many as it may have.", store.MostNotes),
		}
	case errors.Is(err, leads.ErrUnknownTarget):
		return &schema.Error{
			Code:    schema.CodeBadUserInput,
			Message: "Nothing is delivered to this target: it is not set up.",
		}
	case errors.Is(err, store.ErrUnavailable):
		return schema.Unavailable("The database is not available at the moment.", err)
	}

	return apierror.From(err)
}
