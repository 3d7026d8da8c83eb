package crm

import (
	"cmp"
	"slices"
	"strings"

	"siteapi/integrations/lead"
)

// These properties of a deal are set when it is created. From then on people maintain
// them in the CRM.
const (
	PropDealName     = "dealname"
	PropDealStage    = "dealstage"
	PropDealAmount   = "amount"
	PropDealCurrency = "deal_currency_code"
)

// PropDealEmail is the address that was entered. An erasure finds deals by it.
const PropDealEmail = "quote_contact_email"

// DealProperties returns the properties that deals have in addition to the standard ones:
// those of the quote.
func DealProperties() []Property { return dealProperties(Contact{Lead: &lead.Lead{}}) }

func dealProperties(c Contact) []Property {
	all := slices.DeleteFunc(properties(c), func(p Property) bool {
		return !p.Quote() || p.Name == propCreated
	})
	return append(all, Property{
		PropDealEmail, "contact.email", Text,
		"Quote: e-mail", "E-mail address entered with the quote request.",
		Address(c.Lead.Contact.Email),
	})
}

// DealQuote returns the properties of the lead's deal that show the quote. They are
// written with each delivery.
func DealQuote(c Contact) map[string]string {
	quote := map[string]string{}
	for _, p := range dealProperties(c) {
		if value := strings.TrimSpace(p.value); value != "" {
			quote[p.Name] = value
		}
	}
	return quote
}

// NewDeal returns the properties with which the lead's deal is created, except its stage.
func NewDeal(c Contact) map[string]string {
	l, deal := c.Lead, DealQuote(c)
	deal[PropDealName] = dealName(l.ID) + " · " + cmp.Or(c.ProjectType, l.Selections.ProjectType)
	deal[PropDealCurrency] = l.Estimate.Currency
	if amount := bound(l, l.Estimate.Min); amount != "" {
		deal[PropDealAmount] = amount
	}
	return deal
}

func dealName(leadID string) string { return "Quote " + lead.Reference(leadID) }

// ErasedDeal returns the changes that remove a person from the deal of a lead, or from a
// copy that people made of one, which has no lead. They clear the properties of the quote,
// except the choices, the price, the id and the time. They also replace the name of a lead's
// deal, because people may have changed it.
func ErasedDeal(leadID string) map[string]string {
	changes := map[string]string{}
	if leadID != "" {
		changes[PropDealName] = dealName(leadID)
	}
	for _, p := range DealProperties() {
		part, _, _ := strings.Cut(p.Field, ".")
		if !slices.Contains([]string{"selections", "estimate", "priceStatus", "id", "submittedAt"}, part) {
			changes[p.Name] = ""
		}
	}
	return changes
}
