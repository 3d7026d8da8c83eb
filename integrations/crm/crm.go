// Package crm is the contract with the customer relationship management system,
// which holds one contact per e-mail address with the properties of its latest
// quote. Drivers live in the folders below; each passes the conformance suite in
// crmtest. Failures are *upstream.Error.
package crm

import (
	"context"

	"siteapi/integrations/quote"
)

// Names of the quote properties of a contact. All values are strings.
const (
	PropProjectType  = "quote_project_type"
	PropFeatures     = "quote_features" // slugs joined by ";" without spaces
	PropComplexity   = "quote_complexity"
	PropTimeline     = "quote_timeline"
	PropMin          = "quote_min"
	PropMax          = "quote_max"
	PropCurrency     = "quote_currency"
	PropSubmissionID = "quote_submission_id"
	PropSubmittedAt  = "quote_submitted_at" // RFC 3339, UTC
	PropPDFURL       = "quote_pdf_url"
)

// Lead is what the CRM is told: a submission and the absolute address of its PDF
// where the site's address is known, else the relative one.
type Lead struct {
	Submission *quote.Submission
	PDFURL     string
}

// Contacts keeps one contact per e-mail address.
type Contacts interface {
	// Upsert creates or updates the contact with the lead's address. A property the
	// lead does not know is left as it is. Repeating it changes nothing. An older
	// submission never overwrites the quote properties of a newer one.
	Upsert(ctx context.Context, lead Lead) error
	// Missing returns the e-mail addresses among the given ones that have no contact.
	Missing(ctx context.Context, emails []string) ([]string, error)
	// Erase deletes the contact with this address; none is no error.
	Erase(ctx context.Context, email string) error
	// Ping makes one cheap round trip that proves address and credentials.
	Ping(ctx context.Context) error
}

// Setup is a driver whose far end wants preparing.
type Setup interface {
	// Setup creates what Upsert needs at the far end and reports what it did, a line
	// each. Repeating it is safe.
	Setup(ctx context.Context) ([]string, error)
}

// Lookup is a driver that can tell which contacts it has.
type Lookup interface {
	// Missing returns the e-mail addresses among the given ones that have no contact.
	Missing(ctx context.Context, emails []string) ([]string, error)
}

// Eraser is a driver that can delete a contact for good.
type Eraser interface {
	// Erase deletes the contact with this address. Having none is not an error.
	Erase(ctx context.Context, email string) error
}
