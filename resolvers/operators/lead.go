package operators

import (
	"siteapi/integrations/lead"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// NewLead returns a lead with its deliveries as operators see it.
func NewLead(l lead.Lead, deliveries []lead.Delivery) *schema.Lead {
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
		Locale:     newLocale(l.Locale),
		Selections: newSelections(l.Selections),
		Estimate: &schema.LeadEstimate{
			Min:        l.Estimate.Min,
			Max:        l.Estimate.Max,
			Currency:   l.Estimate.Currency,
			ToBeAgreed: l.ToBeAgreed(),
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

	if status := schema.PriceStatus(l.PriceStatus); status != "" {
		shown.PriceStatus = &status
	}
	if sent := l.SentEstimate; sent != nil {
		shown.SentEstimate = &schema.LeadEstimate{
			Min:        sent.Min,
			Max:        sent.Max,
			Currency:   sent.Currency,
			ToBeAgreed: sent.Max == 0,
		}
	}

	for _, c := range l.Consents {
		shown.Consents = append(shown.Consents, newConsent(c))
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

// newLocale returns a language, nil if it is none of the site's.
func newLocale(name string) *schema.Locale {
	if locale, ok := schema.ParseLocale(name); ok {
		return &locale
	}
	return nil
}

func newSelections(s lead.Selections) *schema.LeadSelections {
	return &schema.LeadSelections{
		ProjectType: s.ProjectType,
		Features:    append([]string{}, s.Features...),
		Complexity:  schema.Optional(s.Complexity),
		Timeline:    schema.Optional(s.Timeline),
	}
}

func newConsent(c lead.Consent) *schema.LeadConsent {
	return &schema.LeadConsent{
		Purpose:     c.Purpose,
		Given:       c.Given,
		Text:        schema.Optional(c.Text),
		SiteWording: c.SiteWording,
		WithdrawnAt: c.WithdrawnAt,
	}
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
