package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/rs/zerolog"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
)

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
		known = schema.Unavailable("The request took too long.", nil)
		shown.Message = known.Message
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
