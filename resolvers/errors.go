package resolvers

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// retrySoon is the Retry-After while a backend is down.
const retrySoon = 5 * time.Second

func badInput(fields ...schema.FieldError) *schema.Error {
	return &schema.Error{Code: schema.CodeBadUserInput, Message: "The request has invalid fields.", Fields: fields}
}

func required(field, message string) schema.FieldError {
	return schema.FieldError{Field: field, Code: schema.FieldCodeRequired, Message: message}
}

// conflict says that a field can't be given together with another one.
func conflict(field, other, message string) schema.FieldError {
	return schema.FieldError{
		Field: field, Code: schema.FieldCodeConflict, Params: map[string]any{"field": other}, Message: message,
	}
}

func notFound(message string) *schema.Error {
	return &schema.Error{Code: schema.CodeNotFound, Message: message}
}

func unavailable(message string, err error) *schema.Error {
	return &schema.Error{
		Code: schema.CodeUpstreamUnavailable, Message: message, RetryAfter: retrySoon, Err: err,
	}
}

// translate turns the sentinels of the contracts into coded errors. What it does not
// know stays as it is and is presented as INTERNAL.
func translate(err error) error {
	switch {
	case errors.Is(err, cache.ErrUnavailable):
		return unavailable("The cache is not available at the moment.", err)
	case errors.Is(err, store.ErrUnavailable):
		return unavailable("The request can't be stored at the moment, though it may have been. "+
			"Please send the same again: that is safe and makes no second lead.", err)
	case errors.Is(err, store.ErrKeyReused):
		return &schema.Error{
			Code: schema.CodeIdempotencyKeyReused, Message: "This Idempotency-Key was used for other content. Send a new key for a new attempt.",
		}
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("The request took too long.", err)
	default:
		return err
	}
}
