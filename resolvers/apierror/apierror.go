// Package apierror converts errors that several packages share into errors for clients.
// Errors of a single package are converted there, for example by storeError in quotes;
// executor presents the errors of operators.
package apierror

import (
	"context"
	"errors"

	"siteapi/integrations/cache"
	"siteapi/resolvers/content"
	"siteapi/schema"
)

// From returns the coded error for an error of the content, the cache or a deadline. Any
// other error is returned unchanged and presented as INTERNAL.
func From(err error) error {
	if coded, ok := errors.AsType[*schema.Error](err); ok {
		return coded
	}

	switch {
	case errors.Is(err, content.ErrUnavailable):
		return schema.Unavailable("The content is not available at the moment.", err)
	case errors.Is(err, cache.ErrUnavailable):
		return schema.Unavailable("The cache is not available at the moment.", err)
	case errors.Is(err, context.DeadlineExceeded):
		return schema.Unavailable("The request took too long.", err)
	}
	return err
}
