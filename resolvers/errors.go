package resolvers

import (
	"context"
	"errors"
	"fmt"

	"siteapi/integrations/cache"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

func required(field, message string) schema.FieldError {
	return schema.FieldError{Field: field, Code: schema.FieldCodeRequired, Message: message}
}

// conflict says that a field can't be given together with another one.
func conflict(field, other, message string) schema.FieldError {
	return schema.FieldError{
		Field:   field,
		Code:    schema.FieldCodeConflict,
		Params:  map[string]any{"field": other},
		Message: message,
	}
}

func notFound(message string) *schema.Error {
	return &schema.Error{Code: schema.CodeNotFound, Message: message}
}

// translate turns the sentinel errors of the contracts into coded errors. Any other error
// is returned unchanged and presented as INTERNAL.
func translate(err error) error {
	if coded, ok := errors.AsType[*schema.Error](err); ok {
		return coded
	}

	switch {
	case errors.Is(err, content.ErrUnavailable):
		return schema.Unavailable("The content is not available at the moment.", err)
	case errors.Is(err, content.ErrNotRecorded):
		return schema.Unavailable("The database, which records what is invalidated, is not available at the moment.", err)
	case errors.Is(err, cache.ErrUnavailable):
		return schema.Unavailable("The cache is not available at the moment.", err)
	case errors.Is(err, store.ErrUnavailable):
		return schema.Unavailable("The request can't be stored at the moment, though it may have been. "+
			"Please send the same again: that is safe and makes no second lead.", err)
	case errors.Is(err, store.ErrKeyReused):
		return &schema.Error{
			Code:    schema.CodeIdempotencyKeyReused,
			Message: "This Idempotency-Key was used for other content. Send a new key for a new attempt.",
		}
	case errors.Is(err, context.DeadlineExceeded):
		return schema.Unavailable("The request took too long.", err)
	default:
		return err
	}
}

// operatorError turns the errors of package leads into coded errors.
func operatorError(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notFound("There is no such lead.")
	case errors.Is(err, leads.ErrChanged):
		return &schema.Error{
			Code:    schema.CodeConflict,
			Message: "Somebody was faster: the lead is in another state now.",
		}
	case errors.Is(err, leads.ErrNotInReview):
		return &schema.Error{Code: schema.CodeBadUserInput, Message: "The lead is not in review."}
	case errors.Is(err, leads.ErrNotGiven):
		return &schema.Error{
			Code:    schema.CodeBadUserInput,
			Message: "The address has not given this consent, or has withdrawn it.",
		}
	case errors.Is(err, leads.ErrAmountNotWon):
		return schema.BadInput(conflict("amount", "outcome", "can only be given with WON"))
	case errors.Is(err, leads.ErrNoCurrency):
		return schema.BadInput(required("currency", "is required with an amount"))
	case errors.Is(err, leads.ErrNoAmount):
		return schema.BadInput(required("amount", "is required with a currency"))
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
	case errors.Is(err, queue.ErrUnknownTarget):
		return &schema.Error{
			Code:    schema.CodeBadUserInput,
			Message: "Nothing is delivered to this target: it is not set up.",
		}
	case errors.Is(err, store.ErrUnavailable):
		return schema.Unavailable("The database is not available at the moment.", err)
	}

	return translate(err)
}
