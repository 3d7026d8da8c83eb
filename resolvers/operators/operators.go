// Package operators resolves the fields about operators themselves: the audit of their
// actions, their logins and their names. Other packages record in the audit what their
// fields do.
package operators

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Resolver resolves the fields about operators.
type Resolver struct {
	Store *store.Store
	Log   zerolog.Logger
	Now   func() time.Time
}

// IsViewer reports whether the caller is a viewer, who must not get the id of a lead,
// since the id opens the PDF.
func IsViewer(ctx context.Context) bool {
	return request.CallerFrom(ctx).Operator.Role == schema.RoleViewer
}

// Names resolves the root field `operatorNames`.
func (r *Resolver) Names(ctx context.Context) ([]string, error) {
	names, err := r.Store.Operators(ctx)
	return append([]string{}, names...), err
}
