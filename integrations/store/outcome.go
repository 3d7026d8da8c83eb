package store

import (
	"context"

	"siteapi/integrations/lead"
)

// Outcomes keeps what became of leads.
type Outcomes interface {
	// SetOutcome stores what an operator says became of a lead, in place of anything said
	// before, or returns ErrNotFound. An outcome without a value takes that back.
	SetOutcome(ctx context.Context, id string, o lead.Outcome, audit ...AuditEntry) error

	// SetContactOutcome stores what the CRM says became of a contact with some e-mail
	// addresses: in its newest lead that is neither in review nor rejected. It returns the
	// id of the lead, or ErrNotFound if there is none, or if the outcome does not count: it
	// must be later than the lead and everything said before, and an operator must not have
	// said anything.
	SetContactOutcome(ctx context.Context, emails []string, o lead.Outcome) (leadID string, err error)
}
