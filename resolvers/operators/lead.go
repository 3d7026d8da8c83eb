package operators

import (
	"context"
	"strconv"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// shownLeads returns leads as operators see them, with their deliveries and notes if the
// operation asks for those.
func (r *Resolver) shownLeads(ctx context.Context, found ...lead.Lead) ([]*schema.Lead, error) {
	var deliveries map[string][]queue.Delivery
	if asksDeliveries(ctx) {
		var err error
		if deliveries, err = r.Operators.DeliveriesOf(ctx, found); err != nil {
			return nil, operatorError(err)
		}
	}

	if asks(ctx, "notes") || asks(ctx, "csv") {
		if err := r.Operators.AddNotes(ctx, found); err != nil {
			return nil, operatorError(err)
		}
	}

	list := make([]*schema.Lead, len(found))
	for i, l := range found {
		list[i] = NewLead(l, deliveries[l.ID])
	}
	return list, nil
}

// NewLead returns a lead with its deliveries as operators see it.
func NewLead(l lead.Lead, deliveries []queue.Delivery) *schema.Lead {
	shown := &schema.Lead{
		ID:          l.ID,
		Reference:   lead.Reference(l.ID),
		State:       schema.LeadState(l.State()),
		SubmittedAt: l.SubmittedAt,
		SessionID:   schema.Optional(l.SessionID),
		PDFURL:      schema.Optional(l.PDFPath()),
		Contact: &schema.LeadContact{
			FirstName: l.Contact.FirstName,
			LastName:  l.Contact.LastName,
			Email:     l.Contact.Email,
			Phone:     schema.Optional(l.Contact.Phone),
			Company:   schema.Optional(l.Contact.Company),
		},
		Selections: &schema.LeadSelections{
			ProjectType: l.Selections.ProjectType,
			Features:    append([]string{}, l.Selections.Features...),
			Complexity:  schema.Optional(l.Selections.Complexity),
			Timeline:    schema.Optional(l.Selections.Timeline),
		},
		Estimate: &schema.LeadEstimate{
			Min:      l.Estimate.Min,
			Max:      l.Estimate.Max,
			Currency: l.Estimate.Currency,
		},
		Message:          schema.Optional(l.Message),
		Attribution:      newLeadAttribution(l.Attribution),
		FirstAttribution: newLeadAttribution(l.FirstAttribution),
		Consents:         []*schema.LeadConsent{},
		Signals:          []schema.LeadSignal{},
		Deliveries:       []*schema.Delivery{},
		Owner:            schema.Optional(l.Owner),
		Status:           schema.LeadStatus(l.Status),
		Notes:            []*schema.LeadNote{},
		NoMailReason:     schema.Optional(leads.NoMailReason(l, deliveries)),
		Outcome:          newOutcome(l.Outcome),
	}

	if locale, ok := schema.ParseLocale(l.Locale); ok {
		shown.Locale = &locale
	}
	if status := schema.PriceStatus(l.PriceStatus); status != "" {
		shown.PriceStatus = &status
	}
	if sent := l.SentEstimate; sent != nil {
		shown.SentEstimate = &schema.LeadEstimate{Min: sent.Min, Max: sent.Max, Currency: sent.Currency}
	}

	for _, c := range l.Consents {
		shown.Consents = append(shown.Consents, &schema.LeadConsent{
			Purpose:     c.Purpose,
			Given:       c.Given,
			Text:        schema.Optional(c.Text),
			SiteWording: c.SiteWording,
			WithdrawnAt: c.WithdrawnAt,
		})
	}
	for _, signal := range l.Signals {
		shown.Signals = append(shown.Signals, schema.LeadSignal(signal))
	}
	for _, n := range l.Notes {
		shown.Notes = append(shown.Notes, &schema.LeadNote{Author: n.Author, At: n.At, Text: n.Text})
	}
	for _, d := range deliveries {
		shown.Deliveries = append(shown.Deliveries, newDelivery(d, shown))
	}

	return shown
}

func newLeadAttribution(a lead.Attribution) *schema.LeadAttribution {
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

// newDelivery returns a delivery as operators see it. The lead is nil if it was erased.
func newDelivery(d queue.Delivery, of *schema.Lead) *schema.Delivery {
	shown := &schema.Delivery{
		ID:           strconv.FormatInt(d.ID, 10),
		Target:       schema.DeliveryTarget(strings.ToUpper(string(d.Target))),
		State:        schema.DeliveryState(strings.ToUpper(string(d.State))),
		CreatedAt:    d.CreatedAt,
		Attempts:     []*schema.DeliveryAttempt{},
		AttemptCount: d.Attempts,
		MaxAttempts:  d.MaxAttempts,
		Reason:       schema.Optional(d.Why()),
		Lead:         of,
	}

	for _, e := range d.Errors {
		shown.Attempts = append(shown.Attempts, &schema.DeliveryAttempt{At: e.At, Error: e.Error})
	}
	if !d.NextAt.IsZero() {
		shown.NextAttemptAt = &d.NextAt
	}
	if d.State == queue.Delivered {
		shown.DeliveredAt = &d.FinishedAt
	}

	return shown
}

// NewReceipt returns the receipt of an erasure as operators see it.
func NewReceipt(r *leads.Receipt) *schema.ErasureReceipt {
	shown := &schema.ErasureReceipt{
		Email:    r.Email,
		DryRun:   r.DryRun,
		Complete: r.Complete,
		Remains:  r.Remains,
	}

	for _, p := range r.Places {
		shown.Places = append(shown.Places, &schema.ErasurePlace{
			Place:  p.Name,
			Unit:   p.Unit,
			Found:  p.Found,
			Erased: p.Erased,
			State:  string(p.State),
			Detail: schema.Optional(p.Detail),
		})
	}
	return shown
}
