package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/integrations/cache"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/schema"
	"siteapi/schema/request"
)

// present converts errors for clients. A [schema.Error] keeps its message and code, and
// errors of the content, the cache, the database and a deadline get one. Any other error
// becomes INTERNAL, and its text is only logged.
func (e *Executor) present(ctx context.Context, err error) *gqlerror.Error {
	requestID := request.CallerFrom(ctx).RequestID
	known, isKnown := errors.AsType[*schema.Error](err)

	// The executor's own errors wrap no other error. They concern the request.
	if own, ok := errors.AsType[*gqlerror.Error](err); ok && own.Err == nil && !isKnown {
		switch own.Extensions[schema.ExtensionCode] {
		case nil, errcode.ParseFailed, errcode.ValidationFailed:
			errcode.Set(own, string(schema.CodeBadUserInput))
		}
		if path := own.Path; len(path) > 1 && path[0] == ast.PathName("variable") {
			own.Message = fmt.Sprintf(`Variable "$%s" %s.`, path[1:], own.Message)
		}
		own.Extensions[schema.ExtensionRequestID] = requestID
		return own
	}

	switch {
	case isKnown:
	case errors.Is(err, content.ErrUnavailable):
		known = schema.Unavailable("The content is not available at the moment.", err)
	case errors.Is(err, cache.ErrUnavailable):
		known = schema.Unavailable("The cache is not available at the moment.", err)
	case errors.Is(err, store.ErrUnavailable):
		known = schema.Unavailable("The database is not available at the moment.", err)
	case errors.Is(err, store.ErrNotFound):
		known = schema.NotFound("There is no such lead.")
	case errors.Is(err, context.DeadlineExceeded):
		known = schema.Unavailable("The request took too long.", err)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()): // the client has left
		known = schema.Unavailable("The request was canceled.", nil)
	default:
		known = schema.Internal(requestID)
		e.Log.Error().Ctx(ctx).Str("field", fieldName(ctx)).Err(err).Msg("internal error")
	}
	if known.Err != nil {
		e.Log.Warn().Ctx(ctx).
			Str("code", string(known.Code)).
			Str("field", fieldName(ctx)).
			Err(known.Err).
			Msg("cannot resolve a field")
	}

	// gqlgen's presenter adds the location of the executed field in the document.
	shown := graphql.DefaultErrorPresenter(ctx, err)
	return &gqlerror.Error{
		Message:    known.Message,
		Path:       shown.Path,
		Locations:  shown.Locations,
		Extensions: known.Extensions(requestID),
	}
}

// fieldName returns the schema's name of the executed field. The path is not logged,
// since it has the client's aliases.
func fieldName(ctx context.Context) string {
	if field := graphql.GetFieldContext(ctx); field != nil && field.Field.Field != nil {
		return field.Object + "." + field.Field.Name
	}
	return ""
}

// recover converts a panic in a resolver to an error with the place, for the log.
func (e *Executor) recover(_ context.Context, value any) error {
	return errors.New("panic: " + e.panics.Describe(value))
}
