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
		CrmContactURL:    schema.Optional(l.Records().Contact.URL),
		CrmDealURL:       schema.Optional(l.Records().Deal.URL),
		Contact:          &l.Contact,
		Locale:           schema.Optional(schema.Locale(l.Locale)),
		Selections:       &l.Selections,
		Estimate:         newEstimate(l.Estimate, l.ToBeAgreed()),
		PriceStatus:      schema.Optional(l.PriceStatus),
		Price:            newPrice(&l),
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
		FollowUpAt:       schema.Optional(l.FollowUpAt),
		AnsweredAt:       schema.Optional(l.AnsweredAt),

		DeletionRequestedAt: schema.Optional(l.DeletionRequestedAt),
		DeletionDeclinedAt:  schema.Optional(l.DeletionDeclinedAt),
		DeletionReason:      schema.Optional(l.DeletionReason),
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

// newPrice returns the price of a lead with its quantities, or nil if it has none.
func newPrice(l *lead.Lead) *schema.LeadPrice {
	if l.Price == nil {
		return nil
	}

	p := &schema.LeadPrice{
		Unpriced:   l.Price.Unpriced,
		Tax:        l.Price.Tax,
		TaxNote:    l.Price.TaxNote(),
		Revision:   schema.Optional(l.Price.Revision),
		ValidUntil: schema.Optional(l.Price.ValidUntil),
		Differs:    l.Price.Differs,
	}
	for _, line := range l.Price.Lines {
		shown := &schema.LeadPriceLine{Field: line.Field, Amount: line.Amount}
		if line.Slug != "" {
			shown.Slug = &line.Slug
		}
		if q := l.Selections.Quantity(line.Slug); q.Count > 0 {
			shown.Quantity, shown.Unit = &q.Count, new(q.Unit())
			shown.UnitPrice, shown.Flat, shown.Percent = line.UnitPrice, &line.Flat, &line.Percent
		}
		p.Lines = append(p.Lines, shown)
	}
	return p
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
