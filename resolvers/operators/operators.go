// Package operators resolves the fields of operators: leads and their deliveries, the audit,
// the funnel, and the logins of operators themselves. The rules are those of package
// leads. Each field asks it, records in the audit what was shown or done, and maps the
// result to the types of the schema. A viewer never learns the id of a lead. The commands
// use the same mappings and entries.
package operators

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/live"
	"siteapi/schema"
)

// Deps are the dependencies of a [Resolver].
type Deps struct {
	Leads   *leads.Service
	Persons store.Persons
	Audit   store.Audit
	Logins  store.Logins
	Live    *live.Feed
	Mails   *leadmail.Service
	Log     zerolog.Logger
	Now     func() time.Time
}

// Resolver resolves the fields of operators.
type Resolver struct{ Deps }

// isViewer reports whether a field is answered for a viewer, who must not learn the id of a
// lead: it opens the PDF.
func isViewer(ctx context.Context) bool {
	return schema.CallerFrom(ctx).Operator.Role == schema.RoleViewer
}

// needsAdmin returns FORBIDDEN unless the caller is an admin.
func needsAdmin(ctx context.Context) error {
	if schema.CallerFrom(ctx).Operator.Role == schema.RoleAdmin {
		return nil
	}
	return &schema.Error{Code: schema.CodeForbidden, Message: "This needs the role ADMIN."}
}

// Names resolves the root field `operatorNames`.
func (r *Resolver) Names(ctx context.Context) ([]string, error) {
	names, err := r.Audit.Operators(ctx)
	return append([]string{}, names...), coded(err)
}

// Funnel resolves the root field of that name.
func (r *Resolver) Funnel(ctx context.Context, f store.FunnelFilter) (*schema.Funnel, error) {
	funnel, err := r.Leads.Funnel(ctx, f)
	return funnel, coded(err)
}
