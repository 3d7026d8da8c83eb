// Package leads has the rules of what operators do with leads and their deliveries, for the
// fields in package operators and for the commands.
package leads

import (
	"context"
	"errors"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
)

// Service lists, finds and changes leads and their deliveries.
type Service struct {
	Archive    store.Archive
	Work       store.Work
	Deliveries store.Deliveries
	Outcomes   store.Outcomes
	Queue      *queue.Queue

	CMS CMS
	CRM CRM

	Mails MailFiles

	// ClearPDFs removes rendered documents from the cache.
	ClearPDFs func(ctx context.Context, pattern cache.Pattern) (int, error)

	// Truncate removes deleted data from the database's log.
	Truncate func(ctx context.Context) error

	// Options returns the slugs of the CMS's options, with their labels. It is nil without a
	// CMS at hand.
	Options func(ctx context.Context) map[string]string

	// OutOfReach names the copies of a lead that an erasure leaves, in words.
	OutOfReach []string
}

// MailFiles are the mails that a service in development wrote to files. A lead's are found
// by its id.
type MailFiles interface {
	Count(leads []string) (int, error)
	Erase(leads []string) (int, error)
}

// CMS is the part of the CMS driver that erasing and verifying leads needs.
type CMS interface {
	cms.Lookup
	cms.Eraser
}

// CRM is the part of the CRM driver that erasing and verifying leads needs.
type CRM interface {
	crm.Lookup
	crm.Eraser
}

// Leads returns the leads that a filter selects, up to its limit, and whether there are
// more. An empty state selects any.
func (s *Service) Leads(
	ctx context.Context, f store.Filter, state lead.State,
) (leads []lead.Lead, more bool, err error) {
	for l, err := range s.Archive.Leads(ctx, inState(f, state)) {
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

// inState adds to a filter that leads are in a state; an empty one is any.
func inState(f store.Filter, state lead.State) store.Filter {
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

	leads, _, err := s.Leads(ctx, store.Filter{Reference: name, Limit: 1}, "")
	if err == nil && len(leads) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return lead.Lead{}, err
	}
	return leads[0], nil
}

// DeliveriesOf returns the deliveries of some leads by the leads' ids.
func (s *Service) DeliveriesOf(
	ctx context.Context, leads []lead.Lead,
) (map[string][]lead.Delivery, error) {
	if len(leads) == 0 {
		return nil, nil //nolint:nilnil // an empty map
	}

	f := store.DeliveryFilter{}
	for _, l := range leads {
		f.Leads = append(f.Leads, l.ID)
	}

	list, err := s.Deliveries.ListDeliveries(ctx, f)
	byLead := map[string][]lead.Delivery{}
	for _, d := range list {
		byLead[d.LeadID] = append(byLead[d.LeadID], d)
	}
	return byLead, err
}

// NoMailReason returns why the visitor of a lead with these deliveries has no mail, or none
// yet. It is empty if there is one, or if there is no reason.
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

// Errors of changes that the state of a lead does not allow. A lead that does not exist
// is [store.ErrNotFound].
var (
	ErrNotInReview = errors.New("the lead is not in review")
	ErrUnreleased  = errors.New("the lead is in review or was rejected: release it first")
	ErrChanged     = errors.New("the lead is not in the expected state any more")

	// ErrUnknownTarget means that nothing is delivered to a target.
	ErrUnknownTarget = errors.New("unknown delivery target")
)

// Reject ends the review of a lead so that it is never delivered. It returns
// [ErrNotInReview] if the lead is not in review, or [ErrChanged] if its state is not the
// expected one; an empty one is any.
func (s *Service) Reject(
	ctx context.Context, l lead.Lead, expected lead.State, audit store.AuditEntry,
) error {
	if expected != "" && l.State() != expected {
		return ErrChanged
	}

	rejected, err := s.Archive.Reject(ctx, l.ID, audit)
	switch {
	case err != nil || rejected:
		return err
	case expected == lead.StateInReview: // it was a moment ago
		return ErrChanged
	}
	return ErrNotInReview
}

// Release ends the review of a lead, or takes back its rejection, and delivers it. It
// returns [ErrChanged] if its state is not the expected one; an empty one is any.
func (s *Service) Release(
	ctx context.Context, l lead.Lead, expected lead.State, audit store.AuditEntry,
) error {
	if expected != "" && l.State() != expected {
		return ErrChanged
	}

	released, err := s.Archive.Release(ctx, l.ID, expected == lead.StateInReview, audit)
	if err != nil || released {
		return err
	}
	if expected == lead.StateInReview || expected == lead.StateRejected {
		return ErrChanged // a moment ago
	}
	return nil
}

// CanResend returns [ErrUnreleased] for a lead that is not delivered, or
// [ErrUnknownTarget] for a target to which nothing is.
func (s *Service) CanResend(l lead.Lead, target lead.Target) error {
	if !l.Released() {
		return ErrUnreleased
	}
	if !s.Queue.DeliversTo(target) {
		return ErrUnknownTarget
	}
	return nil
}

// Resend delivers a lead to a target once more, unless a delivery to it is under way. The
// visitor's mail goes to a corrected address unless that is empty; while it is under way, the
// address can't be corrected: [store.ErrUnderWay].
func (s *Service) Resend(ctx context.Context, l lead.Lead, target lead.Target, corrected string) error {
	if !l.Released() {
		return ErrUnreleased
	}
	err := s.Deliveries.ResendLead(ctx, l.ID, target, corrected)
	if errors.Is(err, store.ErrUnderWay) && corrected == "" {
		return nil
	}
	return err
}

// DeliveryPage returns deliveries up to the limit of the filter, their leads without those
// that were erased, and whether there are more deliveries.
func (s *Service) DeliveryPage(
	ctx context.Context, f store.DeliveryFilter,
) (page []lead.Delivery, leads []lead.Lead, more bool, err error) {
	most := f.Limit
	f.Limit++
	page, err = s.Deliveries.ListDeliveries(ctx, f)
	if err != nil || len(page) == 0 {
		return nil, nil, false, err
	}
	if more = len(page) > most; more {
		page = page[:most]
	}

	var of store.Filter
	for _, d := range page {
		of.IDs = append(of.IDs, d.LeadID)
	}
	leads, _, err = s.Leads(ctx, of, "")
	return page, leads, more, err
}
