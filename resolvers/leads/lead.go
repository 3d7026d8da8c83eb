package leads

import (
	"siteapi/integrations/lead"
	"siteapi/resolvers/leadmail"
	"siteapi/schema"
)

// newLeads converts leads to the schema's type.
func newLeads(leads []lead.Lead) []*schema.Lead {
	list := make([]*schema.Lead, len(leads))
	for i, l := range leads {
		list[i] = newLead(l)
	}
	return list
}

func newLead(l lead.Lead) *schema.Lead {
	shown := &schema.Lead{
		ID:               l.ID,
		Reference:        lead.Reference(l.ID),
		State:            l.State(),
		SubmittedAt:      l.SubmittedAt,
		SessionID:        &l.SessionID,
		PDFURL:           schema.Optional(l.PDFPath()),
		QuoteURL:         schema.Optional(l.PagePath()),
		Contact:          &l.Contact,
		Locale:           schema.Optional(schema.Locale(l.Locale)),
		Selections:       &l.Selections,
		Estimate:         newEstimate(l.Estimate, l.ToBeAgreed()),
		PriceStatus:      schema.Optional(l.PriceStatus),
		Price:            l.Price,
		Message:          schema.Optional(l.Message),
		Attribution:      newAttribution(l.Attribution),
		FirstAttribution: newAttribution(l.FirstAttribution),
		Consents:         pointers(l.Consents),
		Signals:          l.Signals,
		Deliveries:       []*schema.Delivery{},
		Owner:            schema.Optional(l.Owner),
		Status:           l.Status,
		Notes:            pointers(l.Notes),
		NoMailReason:     schema.Optional(leadmail.NoMailReason(l)),
		Outcome:          newOutcome(l.Outcome),
	}

	if at := l.DeletionRequestedAt; !at.IsZero() {
		shown.DeletionRequestedAt = &at
	}
	if sent := l.SentEstimate; sent != nil {
		shown.SentEstimate = newEstimate(*sent, sent.Max == 0)
	}
	for _, d := range l.Deliveries {
		shown.Deliveries = append(shown.Deliveries, newDelivery(d, shown))
	}
	return shown
}

func newEstimate(e lead.Estimate, toBeAgreed bool) *schema.LeadEstimate {
	return &schema.LeadEstimate{Min: e.Min, Max: e.Max, Currency: e.Currency, ToBeAgreed: toBeAgreed}
}

// newAttribution returns an attribution, or nil if it is empty.
func newAttribution(a lead.Attribution) *lead.Attribution {
	if a == (lead.Attribution{}) {
		return nil
	}
	return &a
}

// pointers returns pointers to the values of a list.
func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}
