// Package leads implements what operators do with leads and their deliveries, for the
// operator fields of the schema and for the commands.
package leads

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// Service lists, finds and changes leads and their deliveries.
type Service struct {
	Archive    store.Archive
	Records    store.DeliveryRecords
	Deliveries *queue.Queue

	CMS CMS
	CRM CRM

	Mails MailFiles

	// ClearPDFs removes rendered documents from the cache.
	ClearPDFs func(ctx context.Context, pattern cache.Pattern) (int, error)

	// Truncate removes deleted data from the database's log.
	Truncate func(ctx context.Context) error

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

// Undelivered lists the states of deliveries that have not arrived.
func Undelivered() []queue.State {
	return []queue.State{queue.Pending, queue.Running, queue.Retrying, queue.Failed}
}

// Leads returns the leads that a filter selects, up to its limit, and whether there are
// more. An empty state selects any. The deliveries of the leads are not filled in.
func (s *Service) Leads(
	ctx context.Context, f store.Filter, state schema.LeadState,
) (leads []*schema.Lead, more bool, err error) {
	switch state {
	case schema.LeadStateInReview:
		f.InReview = true
	case schema.LeadStateRejected:
		f.Rejected = true
	case schema.LeadStateUnderWay:
		f.Progress = []lead.Progress{lead.Pending, lead.Retrying}
	case schema.LeadStateFailed:
		f.Progress = []lead.Progress{lead.Failed}
	case schema.LeadStateDelivered:
		f.Progress = []lead.Progress{lead.Ended}
	}

	leads = []*schema.Lead{}
	for l, err := range s.Archive.Leads(ctx, f) {
		if err != nil {
			return nil, false, err
		}
		if f.Limit > 0 && len(leads) == f.Limit {
			return leads, true, nil
		}
		leads = append(leads, New(l))
	}
	return leads, false, nil
}

func stateOf(l lead.Lead) schema.LeadState {
	switch {
	case l.InReview:
		return schema.LeadStateInReview
	case l.Rejected:
		return schema.LeadStateRejected
	case l.Progress == lead.Failed:
		return schema.LeadStateFailed
	case l.Progress == lead.Ended:
		return schema.LeadStateDelivered
	}
	return schema.LeadStateUnderWay
}

// Find returns the lead with this id or PDF reference, with its deliveries, or
// [store.ErrNotFound].
func (s *Service) Find(ctx context.Context, name string) (*schema.Lead, error) {
	if len(name) < lead.ReferenceLength {
		return nil, store.ErrNotFound
	}

	leads, _, err := s.Leads(ctx, store.Filter{Reference: name, Limit: 1}, "")
	if err == nil && len(leads) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return leads[0], s.AddDeliveries(ctx, leads...)
}

// AddDeliveries fills in the deliveries of the leads, and why their visitors got no mail.
// It ignores repetitions of a lead, and nil, which stands for a lead that was erased.
func (s *Service) AddDeliveries(ctx context.Context, leads ...*schema.Lead) error {
	byID, f := map[string]*schema.Lead{}, queue.Filter{}
	for _, lead := range leads {
		if lead != nil && byID[lead.ID] == nil {
			byID[lead.ID], f.Leads = lead, append(f.Leads, lead.ID)
		}
	}
	if len(byID) == 0 {
		return nil
	}

	list, err := s.Deliveries.List(ctx, f)
	for _, d := range list {
		lead := byID[d.LeadID]
		lead.Deliveries = append(lead.Deliveries, newDelivery(d, lead))
	}
	for _, lead := range byID {
		lead.NoMailReason = noMailReason(lead)
	}
	return err
}

// noMailReason returns why a visitor got no mail, or nil if there is one, or if it is not
// known any more.
func noMailReason(lead *schema.Lead) *string {
	for _, d := range lead.Deliveries {
		switch {
		case d.Target != schema.DeliveryTargetVisitorMail:
		case d.State == schema.DeliveryStateNotSent:
			return d.Reason
		default:
			return nil
		}
	}

	switch {
	case lead.State == schema.LeadStateInReview:
		return schema.Optional("the lead is in review")
	case lead.State == schema.LeadStateRejected:
		return schema.Optional("the lead was rejected")
	case time.Since(lead.SubmittedAt) > queue.KeptFor:
		return nil
	}
	return schema.Optional("SMTP_URL was not set, or VISITOR_MAIL was off, when the lead was accepted")
}

// Errors of changes that the state of a lead does not allow. A lead that does not exist
// is [store.ErrNotFound].
var (
	ErrNotInReview = errors.New("the lead is not in review")
	ErrUnreleased  = errors.New("the lead is in review or was rejected: release it first")
	ErrChanged     = errors.New("the lead is not in the expected state any more")
)

// Reject ends the review of a lead so that it is never delivered. It returns
// [ErrNotInReview] if the lead is not in review, or [ErrChanged] if its state is not the
// expected one; an empty one is any.
func (s *Service) Reject(
	ctx context.Context, lead *schema.Lead, expected schema.LeadState, audit store.AuditEntry,
) error {
	if expected != "" && lead.State != expected {
		return ErrChanged
	}

	rejected, err := s.Archive.Reject(ctx, lead.ID, audit)
	switch {
	case err != nil || rejected:
		return err
	case expected == schema.LeadStateInReview: // it was a moment ago
		return ErrChanged
	}
	return ErrNotInReview
}

// Release ends the review of a lead, or takes back its rejection, and delivers it. It
// returns [ErrChanged] if its state is not the expected one; an empty one is any.
func (s *Service) Release(
	ctx context.Context, lead *schema.Lead, expected schema.LeadState, audit store.AuditEntry,
) error {
	if expected != "" && lead.State != expected {
		return ErrChanged
	}

	released, err := s.Archive.Release(ctx, lead.ID, expected == schema.LeadStateInReview, audit)
	if err != nil || released {
		return err
	}
	if expected == schema.LeadStateInReview || expected == schema.LeadStateRejected {
		return ErrChanged // a moment ago
	}
	return nil
}

// ErrNotGiven means that a consent was not given, or has been withdrawn.
var ErrNotGiven = errors.New("the address has not given this consent, or has withdrawn it")

// Withdraw records that a person no longer agrees to a purpose, in all leads of an address,
// and tells the CMS and the CRM. It returns the number of leads.
func (s *Service) Withdraw(ctx context.Context, email, purpose string) (int, error) {
	ids, err := s.Archive.WithdrawConsent(ctx, email, purpose, time.Now())
	if errors.Is(err, store.ErrNotFound) {
		err = ErrNotGiven
	}
	if err != nil {
		return 0, err
	}

	found, _, err := s.Leads(ctx, store.Filter{IDs: ids}, "") // forgotten leads are missing
	for _, lead := range found {
		for _, target := range []queue.Target{queue.CMS, queue.CRM} {
			if lead.State != schema.LeadStateInReview && lead.State != schema.LeadStateRejected {
				err = errors.Join(err, s.tell(ctx, lead.ID, target))
			}
		}
	}
	return len(ids), err
}

// tell delivers a lead that has changed. An attempt that was running before may have read
// the lead as it was, so tell waits for its end; any other attempt reads the change.
func (s *Service) tell(ctx context.Context, id string, target queue.Target) error {
	running := queue.Filter{Leads: []string{id}, Target: target, States: []queue.State{queue.Running}}
	for {
		earlier, err := s.Deliveries.List(ctx, running)
		if err != nil {
			return err
		}

		err = s.Deliveries.Resend(ctx, id, target)
		switch {
		case !errors.Is(err, queue.ErrUnderWay):
			return err
		case len(earlier) == 0:
			return nil
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Resend delivers a lead to a target once more, unless a delivery to it is under way.
func (s *Service) Resend(ctx context.Context, lead *schema.Lead, target queue.Target) error {
	if lead.State == schema.LeadStateInReview || lead.State == schema.LeadStateRejected {
		return ErrUnreleased
	}
	err := s.Deliveries.Resend(ctx, lead.ID, target)
	if errors.Is(err, queue.ErrUnderWay) {
		return nil
	}
	return err
}

// DeliveryPage returns deliveries with their leads, up to the limit of the filter, and
// whether there are more.
func (s *Service) DeliveryPage(
	ctx context.Context, f queue.Filter,
) (page []*schema.Delivery, more bool, err error) {
	most := f.Limit
	f.Limit++
	list, err := s.Deliveries.List(ctx, f)
	if err != nil {
		return nil, false, err
	}

	if more = len(list) > most; more {
		list = list[:most]
	}
	if len(list) == 0 {
		return nil, false, nil
	}

	var of store.Filter
	for _, d := range list {
		of.IDs = append(of.IDs, d.LeadID)
	}
	leads, _, err := s.Leads(ctx, of, "")

	byID := map[string]*schema.Lead{} // leads that were erased are missing
	for _, lead := range leads {
		byID[lead.ID] = lead
	}
	for _, d := range list {
		page = append(page, newDelivery(d, byID[d.LeadID]))
	}
	return page, more, err
}

// New returns a lead as operators see it, without its deliveries.
func New(s lead.Lead) *schema.Lead {
	lead := &schema.Lead{
		ID:          s.ID,
		Reference:   lead.Reference(s.ID),
		State:       stateOf(s),
		SubmittedAt: s.SubmittedAt,
		SessionID:   schema.Optional(s.SessionID),
		PDFURL:      schema.Optional(s.PDFPath()),
		Contact: &schema.LeadContact{
			FirstName: s.Contact.FirstName,
			LastName:  s.Contact.LastName,
			Email:     s.Contact.Email,
			Phone:     schema.Optional(s.Contact.Phone),
			Company:   schema.Optional(s.Contact.Company),
		},
		Selections: &schema.LeadSelections{
			ProjectType: s.Selections.ProjectType,
			Features:    append([]string{}, s.Selections.Features...),
			Complexity:  schema.Optional(s.Selections.Complexity),
			Timeline:    schema.Optional(s.Selections.Timeline),
		},
		Estimate: &schema.LeadEstimate{
			Min:      s.Estimate.Min,
			Max:      s.Estimate.Max,
			Currency: s.Estimate.Currency,
		},
		Message:          schema.Optional(s.Message),
		Attribution:      newAttribution(s.Attribution),
		FirstAttribution: newAttribution(s.FirstAttribution),
		Consents:         []*schema.LeadConsent{},
		Signals:          []schema.LeadSignal{},
		Deliveries:       []*schema.Delivery{},
	}

	if locale, ok := schema.ParseLocale(s.Locale); ok {
		lead.Locale = &locale
	}
	if status := schema.PriceStatus(s.PriceStatus); status != "" {
		lead.PriceStatus = &status
	}
	if sent := s.SentEstimate; sent != nil {
		lead.SentEstimate = &schema.LeadEstimate{Min: sent.Min, Max: sent.Max, Currency: sent.Currency}
	}

	for _, c := range s.Consents {
		lead.Consents = append(lead.Consents, &schema.LeadConsent{
			Purpose:     c.Purpose,
			Given:       c.Given,
			Text:        schema.Optional(c.Text),
			SiteWording: c.SiteWording,
			WithdrawnAt: c.WithdrawnAt,
		})
	}
	for _, signal := range s.Signals {
		lead.Signals = append(lead.Signals, schema.LeadSignal(signal))
	}

	return lead
}

func newAttribution(a lead.Attribution) *schema.LeadAttribution {
	if a == (lead.Attribution{}) {
		return nil
	}
	return &schema.LeadAttribution{
		Source:      schema.Optional(a.Source),
		Medium:      schema.Optional(a.Medium),
		Campaign:    schema.Optional(a.Campaign),
		Term:        schema.Optional(a.Term),
		Content:     schema.Optional(a.Content),
		Referrer:    schema.Optional(a.Referrer),
		LandingPage: schema.Optional(a.LandingPage),
	}
}

func newDelivery(d queue.Delivery, lead *schema.Lead) *schema.Delivery {
	delivery := &schema.Delivery{
		ID:           strconv.FormatInt(d.ID, 10),
		Target:       schema.DeliveryTarget(strings.ToUpper(string(d.Target))),
		State:        schema.DeliveryState(strings.ToUpper(string(d.State))),
		CreatedAt:    d.CreatedAt,
		Attempts:     []*schema.DeliveryAttempt{},
		AttemptCount: d.Attempts,
		MaxAttempts:  d.MaxAttempts,
		Lead:         lead,
	}

	for _, e := range d.Errors {
		delivery.Attempts = append(delivery.Attempts, &schema.DeliveryAttempt{At: e.At, Error: e.Error})
		delivery.Reason = schema.Optional(e.Error)
	}

	if reason := cmp.Or(d.Paused, d.Reason); reason != "" {
		delivery.Reason = &reason
	}
	if !d.NextAt.IsZero() {
		delivery.NextAttemptAt = &d.NextAt
	}
	if d.State == queue.Delivered {
		delivery.DeliveredAt, delivery.Reason = &d.FinishedAt, nil
	}

	return delivery
}
