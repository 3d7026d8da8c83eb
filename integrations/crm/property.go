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

	// propCreated marks a contact that a lead created. Any other is kept by people.
	propCreated = "quote_contact_created"
)

// Kind is the type of a property's values.
type Kind int

// The kinds of properties.
const (
	Text Kind = iota
	LongText
	Number
	Time
)

// Property is a property of a contact, and where its value comes from.
type Property struct {
	Name string
	// Field is the path of the value in the JSON of a lead, such as
	// "contact.email". It is empty if the value is not one field of the lead.
	Field string
	Kind  Kind
	// Label is empty for a property that every CRM has.
	Label       string
	Description string
	value       string
}

// Quote reports whether the property belongs to the latest quote rather
// than to the person.
func (p Property) Quote() bool { return p.Label != "" }

// Properties lists the properties of a contact that a lead fills. A test compares it with
// the fields of a lead.
func Properties() []Property { return properties(Contact{Lead: &lead.Lead{}}) }

// properties lists the properties with the values that they have for a lead.
func properties(c Contact) []Property {
	return slices.Concat(contactProperties(c),
		touchProperties("quote_", "attribution.", "Quote: ", c.Lead.Attribution),
		touchProperties("quote_first_", "firstAttribution.", "Quote: first ", c.Lead.FirstAttribution))
}

// touchProperties lists the properties of an attribution.
func touchProperties(name, field, label string, touch lead.Attribution) (all []Property) {
	for i, p := range [][3]string{
		{"source", "source", "Who sent the visitor, such as newsletter."},
		{"medium", "medium", "How the visitor came, such as email."},
		{"campaign", "campaign", "Campaign that brought the visitor."},
		{"term", "term", "Search term that brought the visitor."},
		{"content", "content", "Variant of the advertisement."},
		{"referrer", "referrer", "Page that linked to the site, without its query."},
		{"landing_page", "landingPage", "Page that the visitor saw first, without its query."},
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

// contactProperties lists the properties of the person and of what was chosen.
func contactProperties(c Contact) []Property {
	l := c.Lead
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
			"Quote: contact created", "true if a quote request created the contact.",
			"true",
		},
		{
			"quote_contact_firstname", "contact.firstName", Text,
			"Quote: first name", "First name that was typed with the latest quote request.",
			l.Contact.FirstName,
		},
		{
			"quote_contact_lastname", "contact.lastName", Text,
			"Quote: last name", "Last name that was typed with the latest quote request.",
			l.Contact.LastName,
		},
		{
			"quote_contact_phone", "contact.phone", Text,
			"Quote: telephone", "Telephone number that was typed with the latest quote request.",
			l.Contact.Phone,
		},
		{
			"quote_contact_company", "contact.company", Text,
			"Quote: company", "Company that was typed with the latest quote request.",
			l.Contact.Company,
		},

		{
			"quote_project_type", "selections.projectType", Text,
			"Quote: project type", "Project type chosen in the calculator, as a slug.",
			l.Selections.ProjectType,
		},
		{
			"quote_features", "selections.features", LongText,
			"Quote: features", "Features chosen, as slugs joined by semicolons.",
			strings.Join(l.Selections.Features, ";"),
		},
		{
			"quote_complexity", "selections.complexity", Text,
			"Quote: complexity", "Complexity chosen, as a slug.",
			l.Selections.Complexity,
		},
		{
			"quote_timeline", "selections.timeline", Text,
			"Quote: timeline", "Timeline chosen, as a slug.",
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
			"Quote: price status", "Whose price the estimate is: VERIFIED, HONOURED, UNPRICED or NOT_VERIFIED.",
			string(l.PriceStatus),
		},
		{
			"quote_message", "message", LongText,
			"Quote: message", "What the visitor added in words.",
			l.Message,
		},
		{
			"quote_consents", "consents.purpose", LongText,
			"Quote: consents", "What the person was asked to agree to, and the answers.",
			lead.ConsentText(l.Consents),
		},
		{
			PropLeadID, "id", Text,
			"Quote: reference", "Identifier of the latest quote request.",
			l.ID,
		},
		{
			PropSubmittedAt, "submittedAt", Time,
			"Quote: submitted at", "When the latest quote was requested.",
			l.SubmittedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		},
		{
			"quote_pdf_url", "", Text,
			"Quote: PDF", "Address of the quote's PDF summary.",
			c.PDFURL,
		},
	}
}

// Changes returns the properties to write so that a contact reflects the lead; current are
// the properties it has, nil if it is to be created.
//
// The properties of the quote show the newest lead: what it left out is cleared, and an
// older lead changes none. Anybody can submit with any address, so the properties of the
// person are written to a new contact only, and later where they are empty in a contact
// that a lead created. What people wrote stays.
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

// supersedes reports whether the lead is at least as new as the lead a
// contact shows. It compares by time, then by id, so that every order of arrival
// has the same outcome.
func supersedes(l Contact, current map[string]string) bool {
	at, err := parseTime(current[PropSubmittedAt])
	if err != nil {
		return true // the contact shows no time, or not in our format
	}

	if c := l.Lead.SubmittedAt.Truncate(time.Millisecond).Compare(at); c != 0 {
		return c > 0
	}
	return l.Lead.ID >= current[PropLeadID]
}

// bound returns a bound of the estimate; nothing where there is no price.
func bound(l *lead.Lead, f float64) string {
	if l.ToBeAgreed() {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// same reports whether two values mean the same. A CRM may return a time or a number in
// another notation than it was given.
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

// parseTime reads RFC 3339 or milliseconds since 1970, both of which CRMs return.
func parseTime(s string) (time.Time, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	return time.Parse(time.RFC3339, s)
}
