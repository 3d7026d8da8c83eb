package crm

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/lead"
)

// These properties identify a contact and its latest quote. All values are strings.
const (
	PropEmail       = "email"
	PropLeadID      = "quote_submission_id"
	PropSubmittedAt = "quote_submitted_at" // RFC 3339 in UTC with milliseconds

	// PropMerged is not empty in a contact into which others were merged.
	PropMerged = "hs_merged_object_ids"

	// propCreated marks a contact created by a lead. Others are maintained in the CRM.
	propCreated = "quote_contact_created"
)

// Kind is the type of a property's values.
type Kind int

// These are the kinds of properties.
const (
	Text Kind = iota
	LongText
	Number
	Time
)

// Property describes a property of a contact and the source of its value.
type Property struct {
	Name string
	// Field is the path of the value in the JSON of a lead, for example "contact.email".
	// It is empty if the value is not a single field of the lead.
	Field string
	Kind  Kind
	// Label is empty for a standard property, which exists in every CRM.
	Label       string
	Description string
	value       string
}

// Quote reports whether the property belongs to the latest quote, not to the person.
func (p Property) Quote() bool { return p.Label != "" }

// Properties returns the properties that are filled from a lead. A test compares them
// with the fields of a lead.
func Properties() []Property { return properties(Contact{Lead: &lead.Lead{}, TimeZone: time.UTC}) }

// properties returns the properties with their values for a lead.
func properties(c Contact) []Property {
	return slices.Concat(personProperties(c.Lead), quoteProperties(c),
		touchProperties("quote_", "attribution.", "Quote: ", c.Lead.Attribution),
		touchProperties("quote_first_", "firstAttribution.", "Quote: first ", c.Lead.FirstAttribution))
}

// touchProperties returns the properties of an attribution.
func touchProperties(name, field, label string, touch lead.Attribution) (all []Property) {
	for i, p := range [][3]string{
		{"source", "source", "Source of the visit, for example newsletter."},
		{"medium", "medium", "Medium of the visit, for example email."},
		{"campaign", "campaign", "Campaign that led to the visit."},
		{"term", "term", "Search term that led to the visit."},
		{"content", "content", "Variant of the advertisement."},
		{"referrer", "referrer", "Page that linked to the site, without its query string."},
		{"landing_page", "landingPage", "First page of the visit, without its query string."},
	} {
		all = append(all, Property{
			Name:        name + p[0],
			Field:       field + p[1],
			Label:       label + strings.ReplaceAll(p[0], "_", " "),
			Description: p[2],
			value:       touch.Values()[i],
		})
	}

	return all
}

// personProperties returns the properties of the person, and those with what was entered.
func personProperties(l *lead.Lead) []Property {
	return []Property{
		{
			PropEmail, "contact.email", Text, "", "",
			Address(l.Contact.Email),
		},
		{
			"firstname", "contact.firstName", Text, "", "",
			l.Contact.FirstName,
		},
		{
			"lastname", "contact.lastName", Text, "", "",
			l.Contact.LastName,
		},
		{
			"phone", "contact.phone", Text, "", "",
			l.Contact.Phone,
		},
		{
			"company", "contact.company", Text, "", "",
			l.Contact.Company,
		},

		{
			propCreated, "", Text,
			"Quote: contact created", "true if the contact was created by a quote request.",
			"true",
		},
		{
			"quote_contact_firstname", "contact.firstName", Text,
			"Quote: first name", "First name entered with the quote request.",
			l.Contact.FirstName,
		},
		{
			"quote_contact_lastname", "contact.lastName", Text,
			"Quote: last name", "Last name entered with the quote request.",
			l.Contact.LastName,
		},
		{
			"quote_contact_phone", "contact.phone", Text,
			"Quote: telephone", "Telephone number entered with the quote request.",
			l.Contact.Phone,
		},
		{
			"quote_contact_company", "contact.company", Text,
			"Quote: company", "Company entered with the quote request.",
			l.Contact.Company,
		},
	}
}

// quoteProperties returns the properties of the quote.
func quoteProperties(c Contact) []Property {
	l := c.Lead

	return []Property{
		{
			"quote_project_type", "selections.projectType", Text,
			"Quote: project type", "Project type selected in the calculator, as a slug.",
			l.Selections.ProjectType,
		},
		{
			"quote_features", "selections.features", LongText,
			"Quote: features", "Selected features, as slugs joined by semicolons.",
			strings.Join(l.Selections.Features, ";"),
		},
		{
			"quote_quantities", "selections.quantities.slug", LongText,
			"Quote: quantities", "Quantities of the selections, such as cleaning=120 m²; windows=8.",
			l.Selections.QuantityText(),
		},
		{
			"quote_complexity", "selections.complexity", Text,
			"Quote: complexity", "Selected complexity, as a slug.",
			l.Selections.Complexity,
		},
		{
			"quote_timeline", "selections.timeline", Text,
			"Quote: timeline", "Selected timeline, as a slug.",
			l.Selections.Timeline,
		},
		{
			"quote_min", "estimate.min", Number,
			"Quote: estimate from", "Lower bound of the estimate, in the quote's currency.",
			bound(l, l.Estimate.Min),
		},
		{
			"quote_max", "estimate.max", Number,
			"Quote: estimate to", "Upper bound of the estimate, in the quote's currency.",
			bound(l, l.Estimate.Max),
		},
		{
			"quote_currency", "estimate.currency", Text,
			"Quote: currency", "Currency of the estimate (ISO 4217).",
			l.Estimate.Currency,
		},
		{
			"quote_price_status", "priceStatus", Text,
			"Quote: price status", "Result of the price check: VERIFIED, HONORED, UNPRICED or NOT_VERIFIED.",
			string(l.PriceStatus),
		},
		{
			"quote_message", "message", LongText,
			"Quote: message", "Message from the visitor.",
			l.Message,
		},
		{
			"quote_consents", "consents.purpose", LongText,
			"Quote: consents", "Consents requested from the visitor, with the answers.",
			l.ConsentText(c.TimeZone),
		},
		{
			PropLeadID, "id", Text,
			"Quote: reference", "Identifier of the quote request.",
			l.ID,
		},
		{
			PropSubmittedAt, "submittedAt", Time,
			"Quote: submitted at", "Time of the quote request.",
			l.SubmittedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		},
		{
			"quote_pdf_url", "", Text,
			"Quote: PDF", "Address of the quote's PDF summary.",
			c.PDFURL,
		},
		{
			"quote_page_url", "", Text,
			"Quote: page", "Address of the quote's page.",
			c.PageURL,
		},
	}
}

// Changes returns the properties to write so that a contact reflects the lead. The map
// current holds the contact's properties; it is nil if the contact must be created.
//
// The properties of the quote always show the newest lead: those for which it has no
// value are cleared, and an older lead changes none. Because anyone can submit any
// address, the properties of the person are written only when a contact is created, or if
// they are empty and a lead created the contact. Personal data entered in the CRM is
// never replaced.
func Changes(l Contact, current map[string]string) map[string]string {
	changes := map[string]string{}
	newer := supersedes(l, current)
	for _, p := range properties(l) {
		value, had := strings.TrimSpace(p.value), current[p.Name]
		switch {
		case p.same(had, value):
		case current == nil,
			p.Quote() && newer && p.Name != propCreated,
			!p.Quote() && had == "" && current[propCreated] == "true":
			changes[p.Name] = value
		}
	}

	return changes
}

// supersedes reports whether the lead is at least as new as the one shown by a contact.
// It compares by time, then by id, so the result does not depend on the order of
// deliveries.
func supersedes(l Contact, current map[string]string) bool {
	at, err := parseTime(current[PropSubmittedAt])
	if err != nil {
		return true // the contact's time is missing or malformed
	}

	if c := l.Lead.SubmittedAt.Truncate(time.Millisecond).Compare(at); c != 0 {
		return c > 0
	}
	return l.Lead.ID >= current[PropLeadID]
}

// bound formats a bound of the estimate, or returns "" if the price is to be agreed.
func bound(l *lead.Lead, f float64) string {
	if l.ToBeAgreed() {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// same reports whether two values are equal. A CRM may return a time or a number in a
// different notation from the one that was written.
func (p Property) same(a, b string) bool {
	if a == b {
		return true
	}

	switch p.Kind {
	case Time:
		at, aErr := parseTime(a)
		bt, bErr := parseTime(b)
		return aErr == nil && bErr == nil && at.Equal(bt)
	case Number:
		af, aErr := strconv.ParseFloat(a, 64)
		bf, bErr := strconv.ParseFloat(b, 64)
		return aErr == nil && bErr == nil && af == bf
	}
	return false
}

// parseTime parses a time in RFC 3339 or in milliseconds since 1970. CRMs return both.
func parseTime(s string) (time.Time, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	return time.Parse(time.RFC3339, s)
}
