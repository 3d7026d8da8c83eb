// Package leads implements the operations on leads that involve more than one table or
// system, such as the database, the CMS, the CRM, the cache and files: lists, exports,
// erasures, verifications, the funnel, and outcomes from the CRM.
package leads

import (
	"context"

	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
)

// Service lists, finds, verifies and erases leads.
type Service struct {
	Store *store.Store
	Queue *queue.Queue

	CMS CMS
	CRM CRM

	Mails MailFiles

	// ClearPDFs removes the rendered documents of all leads from the cache, since an
	// interrupted erasure may already have removed the ids of erased leads. The others
	// are rendered again.
	ClearPDFs func(ctx context.Context) (int, error)

	// Truncate removes deleted data from the database's log.
	Truncate func(ctx context.Context) error

	// Options returns the slugs of the CMS's options with their labels. Optional: nil
	// without a CMS.
	Options func(ctx context.Context) map[string]string

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

// Leads returns the leads that a filter selects, up to its limit, and whether there are
// more.
func (s *Service) Leads(ctx context.Context, f store.Filter) (leads []lead.Lead, more bool, err error) {
	for l, err := range s.Store.Leads(ctx, f) {
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

// InState limits a filter to leads in a state; an empty state matches all.
func InState(f store.Filter, state lead.State) store.Filter {
	switch state {
	case lead.StateInReview:
		f.InReview = true
	case lead.StateRejected:
		f.Rejected = true
	case lead.StateUnderWay:
		f.Progress = []lead.DeliveryState{lead.Pending, lead.Retrying}
	case lead.StateFailed:
		f.Progress = []lead.DeliveryState{lead.Failed}
	case lead.StateDelivered:
		f.Progress = []lead.DeliveryState{lead.Delivered}
	}
	return f
}

// Find returns the lead with this id or PDF reference, or [store.ErrNotFound].
func (s *Service) Find(ctx context.Context, name string) (lead.Lead, error) {
	if len(name) < lead.ReferenceLength {
		return lead.Lead{}, store.ErrNotFound
	}

	for l, err := range s.Store.Leads(ctx, store.Filter{Reference: name, Limit: 1}) {
		return l, err
	}
	return lead.Lead{}, store.ErrNotFound
}

// DeliveriesOf returns the deliveries of leads by lead id.
func (s *Service) DeliveriesOf(ctx context.Context, leads []lead.Lead) (map[string][]lead.Delivery, error) {
	byLead := map[string][]lead.Delivery{}
	if len(leads) == 0 {
		return byLead, nil
	}

	list, err := s.Store.ListDeliveries(ctx, store.DeliveryFilter{Leads: IDs(leads)})
	for _, d := range list {
		byLead[d.LeadID] = append(byLead[d.LeadID], d)
	}
	return byLead, err
}

// IDs returns the ids of leads.
func IDs(leads []lead.Lead) []string {
	ids := make([]string, len(leads))
	for i, l := range leads {
		ids[i] = l.ID
	}
	return ids
}

// NoMailReason returns the reason why the visitor of a lead has not received a mail. It
// is empty if the mail was sent, or if no reason is recorded.
func NoMailReason(l lead.Lead, deliveries []lead.Delivery) string {
	for _, d := range deliveries {
		if d.Target == lead.VisitorMail {
			return d.Why()
		}
	}

	switch {
	case l.InReview:
		return "the lead is in review"
	case l.Rejected:
		return "the lead was rejected"
	}
	return ""
}
