package crm

import (
	"context"
	"iter"
	"time"

	"siteapi/integrations/lead"
)

// Outcomes is implemented by drivers whose CRM records outcomes of contacts.
type Outcomes interface {
	// Outcomes yields pages of the contacts with an outcome that changed at or after
	// since, in the order of their last changes. It may yield a contact more than once,
	// and leaves out contacts that are deleted or merged during the iteration. It waits
	// for short rate limits.
	Outcomes(ctx context.Context, since time.Time) iter.Seq2[OutcomePage, error]
}

// OutcomePage is a page of contacts with an outcome.
type OutcomePage struct {
	Contacts []ContactOutcome
	Until    time.Time // later pages contain no change before this time, by the CRM's clock
}

// ContactOutcome is the outcome of a contact.
type ContactOutcome struct {
	Emails []string // all addresses of the contact
	Value  lead.OutcomeValue
	At     time.Time // time of the outcome
}
