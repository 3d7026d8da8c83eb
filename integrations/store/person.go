package store

import (
	"context"
	"time"

	"siteapi/integrations/lead"
)

// KeptConsent is a consent that outlived its lead.
type KeptConsent struct {
	lead.Consent
	At     time.Time // when the lead was submitted
	Locale string    // the lead's language
}

// Persons finds the data stored about a person other than leads. Addresses are compared
// ignoring case.
type Persons interface {
	// KeptConsents returns the consents of an address whose leads PruneLeads erased,
	// oldest first.
	KeptConsents(ctx context.Context, email string) ([]KeptConsent, error)

	// SessionsOf returns the sessions in which an address was typed and the sessions of
	// its leads, in the order in which they began. If another address was typed in a
	// lead's session, that address and the name are left out.
	SessionsOf(ctx context.Context, email string) ([]lead.Session, error)
}
