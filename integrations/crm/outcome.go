package crm

import (
	"context"
	"iter"
	"time"

	"siteapi/integrations/lead"
)

// Outcomes is a CRM in which people say what becomes of contacts. A driver whose CRM has no
// such people does not implement it.
type Outcomes interface {
	// Outcomes yields the contacts with an outcome that changed at a time or later, page by
	// page, in the order of their last changes. A contact may come more than once, and one
	// that is deleted or merged meanwhile is left out. It waits for short rate limits.
	Outcomes(ctx context.Context, since time.Time) iter.Seq2[OutcomePage, error]
}

// OutcomePage is a part of the contacts with an outcome.
type OutcomePage struct {
	Contacts []ContactOutcome
	Until    time.Time // later pages hold no change before this time, by the CRM's clock
}

// ContactOutcome is what became of a contact.
type ContactOutcome struct {
	Emails []string // all addresses of the contact
	Value  lead.OutcomeValue
	At     time.Time // when it became that
}
