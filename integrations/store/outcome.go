package store

import (
	"context"

	"siteapi/integrations/lead"
)

// Outcomes stores the outcomes of leads.
type Outcomes interface {
	// SetOutcome stores the outcome that an operator recorded, in place of any earlier
	// one, or returns ErrNotFound. An outcome without a value clears it.
	SetOutcome(ctx context.Context, id string, o lead.Outcome, audit ...AuditEntry) error

	// SetContactOutcome stores the CRM's outcome for a contact with the given addresses,
	// in its newest lead that is neither in review nor rejected. It returns the id of the
	// lead, or ErrNotFound if there is no such lead or the outcome does not apply: it
	// must be later than the lead and any earlier outcome, and no operator's outcome may
	// be set.
	SetContactOutcome(ctx context.Context, emails []string, o lead.Outcome) (leadID string, err error)
}
