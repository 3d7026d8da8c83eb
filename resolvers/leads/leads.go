// Package leads resolves the fields of operators about leads: lists, changes, deliveries,
// persons, erasures, exports and events. It also reads the outcomes of leads from the CRM.
// Each field records the read or the change in the audit, through package operators. A
// viewer never gets the id of a lead.
package leads

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

// Resolver resolves the fields about leads.
type Resolver struct {
	Operators *operators.Resolver
	Store     *store.Store
	Queue     *queue.Queue
	Mails     *leadmail.Service
	Log       zerolog.Logger
	TimeZone  *time.Location // zone of the months in reports

	// Options returns the slugs of the CMS's options with their labels; nil without a CMS.
	Options func(ctx context.Context) map[string]string

	CMS       CMS
	CRM       CRM
	MailFiles MailFiles

	// ClearPDFs removes the rendered documents of all leads from the cache, since an
	// interrupted erasure may already have removed the ids of erased leads. The others
	// are rendered again.
	ClearPDFs func(ctx context.Context) (int, error)

	// Truncate removes deleted data from the database's log.
	Truncate func(ctx context.Context) error

	// OutOfReach describes the copies of a lead that an erasure cannot remove.
	OutOfReach func() []string
}

// MailFiles has the mails that a service in development wrote to files, by lead id.
type MailFiles interface {
	Count(leads []string) (int, error)
	Erase(leads []string) (int, error)
}

// CMS is the part of the CMS driver that is used to erase and verify leads.
type CMS interface {
	cms.Lookup
	cms.Eraser
}

// CRM is the part of the CRM driver that is used to erase and verify leads.
type CRM interface {
	crm.Lookup
	crm.Eraser
}

// list returns the leads that a filter selects, up to its limit, and whether there are
// more.
func (r *Resolver) list(ctx context.Context, f store.Filter) (leads []lead.Lead, more bool, err error) {
	for l, err := range r.Store.Leads(ctx, f) {
		if err != nil {
			return nil, false, err
		}
		if f.Limit > 0 && len(leads) == f.Limit {
			return leads, true, nil
		}
		leads = append(leads, l)
	}
	return leads, false, nil
}

// Named returns the leads that a person names by an id, a reference or an address, or
// NOT_FOUND if there is none. Only an address may have several.
func (r *Resolver) Named(ctx context.Context, name string) (found []lead.Lead, err error) {
	name = schema.Clean(name)
	switch {
	case crm.Addressable(name):
		found, _, err = r.list(ctx, store.Filter{Email: name, Newest: true})
	case len(name) >= lead.ReferenceLength:
		found, _, err = r.list(ctx, store.Filter{Reference: name, Limit: 1})
	}
	if err == nil && len(found) == 0 {
		err = schema.NotFound("There is no lead " + name + ".")
	}
	return found, err
}

// Find returns the lead that a person names, for a change of one lead. It refuses an address
// with several.
func (r *Resolver) Find(ctx context.Context, name string) (lead.Lead, error) {
	found, err := r.Named(ctx, name)
	if err != nil {
		return lead.Lead{}, err
	}

	if len(found) > 1 {
		references := make([]string, len(found))
		for i, l := range found {
			references[i] = lead.Reference(l.ID)
		}
		return lead.Lead{}, schema.BadRequest(name + " has several leads: name one of " +
			strings.Join(references, ", ") + ".")
	}
	return found[0], nil
}

// Audited returns the ids of the leads that a person names, also of an erased one that the
// audit still has.
func (r *Resolver) Audited(ctx context.Context, name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}

	found, err := r.Named(ctx, name)
	if isNotFound(err) && len(name) >= lead.ReferenceLength {
		erased, readErr := r.Store.AuditedLeads(ctx, name)
		if readErr != nil || len(erased) > 0 {
			return erased, readErr
		}
	}
	return idsOf(found), err
}

// isNotFound reports whether an error is that of a lead that does not exist, or no longer.
func isNotFound(err error) bool {
	known, ok := errors.AsType[*schema.Error](err)
	return errors.Is(err, store.ErrNotFound) || ok && known.Code == schema.CodeNotFound
}

// idsOf returns the ids of leads.
func idsOf(leads []lead.Lead) []string {
	list := make([]string, len(leads))
	for i, l := range leads {
		list[i] = l.ID
	}
	return list
}
