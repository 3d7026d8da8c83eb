// Package leads resolves the fields of operators about leads: lists, changes, deliveries,
// persons, erasures, exports and events. It also reads the outcomes of leads from the CRM.
// Each field records the read or the change in the audit, through package operators. A
// viewer never gets the id of a lead.
package leads

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/operators"
)

// Resolver resolves the fields about leads.
type Resolver struct {
	Operators *operators.Resolver
	Store     *store.Store
	Queue     *queue.Queue
	Mails     *leadmail.Service
	Log       zerolog.Logger
	TimeZone  *time.Location // zone of the times in exports

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
	OutOfReach []string
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

// Find returns the lead with this id or PDF reference, or [store.ErrNotFound].
func (r *Resolver) Find(ctx context.Context, name string) (lead.Lead, error) {
	if len(name) < lead.ReferenceLength {
		return lead.Lead{}, store.ErrNotFound
	}

	for l, err := range r.Store.Leads(ctx, store.Filter{Reference: name, Limit: 1}) {
		return l, err
	}
	return lead.Lead{}, store.ErrNotFound
}

// deliveriesOf returns the deliveries of leads by lead id.
func (r *Resolver) deliveriesOf(ctx context.Context, leads []lead.Lead) (map[string][]lead.Delivery, error) {
	byLead := map[string][]lead.Delivery{}
	if len(leads) == 0 {
		return byLead, nil
	}

	list, err := r.Store.ListDeliveries(ctx, store.DeliveryFilter{Leads: idsOf(leads)})
	for _, d := range list {
		byLead[d.LeadID] = append(byLead[d.LeadID], d)
	}
	return byLead, err
}

// idsOf returns the ids of leads.
func idsOf(leads []lead.Lead) []string {
	list := make([]string, len(leads))
	for i, l := range leads {
		list[i] = l.ID
	}
	return list
}
