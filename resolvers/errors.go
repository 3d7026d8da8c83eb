package resolvers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/rs/zerolog"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/integrations/cache"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/schema"
)

// retrySoon is the Retry-After of errors while a backend is down.
const retrySoon = 5 * time.Second

func badInput(fields ...schema.FieldError) *schema.Error {
	return &schema.Error{
		Code:    schema.CodeBadUserInput,
		Message: "The request has invalid fields.",
		Fields:  fields,
	}
}

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

func unavailable(message string, err error) *schema.Error {
	return &schema.Error{
		Code:       schema.CodeUpstreamUnavailable,
		Message:    message,
		RetryAfter: retrySoon,
		Err:        err,
	}
}

// translate turns the sentinel errors of the contracts into coded errors. Any other error
// is returned unchanged and presented as INTERNAL.
func translate(err error) error {
	if coded, ok := errors.AsType[*schema.Error](err); ok {
		return coded
	}

	switch {
	case errors.Is(err, content.ErrUnavailable):
		return unavailable("The content is not available at the moment.", err)
	case errors.Is(err, content.ErrNotRecorded):
		return unavailable("The database, which records what is invalidated, is not available at the moment.", err)
	case errors.Is(err, cache.ErrUnavailable):
		return unavailable("The cache is not available at the moment.", err)
	case errors.Is(err, store.ErrUnavailable):
		return unavailable("The request can't be stored at the moment, though it may have been. "+
			"Please send the same again: that is safe and makes no second lead.", err)
	case errors.Is(err, store.ErrKeyReused):
		return &schema.Error{
			Code:    schema.CodeIdempotencyKeyReused,
			Message: "This Idempotency-Key was used for other content. Send a new key for a new attempt.",
		}
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("The request took too long.", err)
	default:
		return err
	}
}

// presenter turns errors into what clients see. An error that is meant for clients keeps
// its message and code. Any other is INTERNAL, and its text goes to the log only.
type presenter struct {
	log zerolog.Logger
}

func (p presenter) present(ctx context.Context, err error) *gqlerror.Error {
	requestID := schema.CallerFrom(ctx).RequestID

	if known, ok := errors.AsType[*schema.Error](err); ok {
		shown := p.at(ctx, err, known.Message)
		if known.Err != nil {
			p.log.Warn().Ctx(ctx).
				Str("code", string(known.Code)).
				Str("field", fieldName(ctx)).
				Err(known.Err).
				Msg("request refused")
		}
		shown.Extensions = known.Extensions(requestID)
		return shown
	}

	// The executor's own errors wrap no other error. They are about the request.
	if fromExecutor, ok := errors.AsType[*gqlerror.Error](err); ok && fromExecutor.Err == nil {
		switch fromExecutor.Extensions[schema.ExtensionCode] {
		case nil, errcode.ParseFailed, errcode.ValidationFailed:
			errcode.Set(fromExecutor, string(schema.CodeBadUserInput))
		}

		if path := fromExecutor.Path; len(path) > 1 && path[0] == ast.PathName("variable") {
			fromExecutor.Message = fmt.Sprintf(`Variable "$%s" %s.`, path[1:], fromExecutor.Message)
		}

		fromExecutor.Extensions[schema.ExtensionRequestID] = requestID
		return fromExecutor
	}

	shown := p.at(ctx, err, "Something went wrong on our side. Request id: "+requestID)
	var known *schema.Error
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		known = &schema.Error{Code: schema.CodeUpstreamUnavailable, RetryAfter: retrySoon}
		shown.Message = "The request took too long."
	} else {
		known = &schema.Error{Code: schema.CodeInternal}
		p.log.Error().Ctx(ctx).Str("field", fieldName(ctx)).Err(err).Msg("internal error")
	}

	shown.Extensions = known.Extensions(requestID)
	return shown
}

// fieldName returns the name in the schema of the field that is being executed. Its path
// is not logged, since it has the client's aliases.
func fieldName(ctx context.Context) string {
	if field := graphql.GetFieldContext(ctx); field != nil && field.Field.Field != nil {
		return field.Object + "." + field.Field.Name
	}
	return ""
}

// at returns an error with this message, and with the path and position in the document
// of the field that is being executed.
func (p presenter) at(ctx context.Context, err error, message string) *gqlerror.Error {
	shown := graphql.DefaultErrorPresenter(ctx, err)
	return &gqlerror.Error{Message: message, Path: shown.Path, Locations: shown.Locations}
}

// recoverPanic turns a panic in a resolver into an error with the stack, for the log.
func recoverPanic(_ context.Context, value any) error {
	return fmt.Errorf("panic: %v\n%s", value, debug.Stack())
}
