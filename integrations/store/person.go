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

// Persons finds what is stored about a person apart from leads. Letter case of an address is
// ignored.
type Persons interface {
	// KeptConsents returns the consents of an address whose leads PruneLeads erased, the
	// oldest first.
	KeptConsents(ctx context.Context, email string) ([]KeptConsent, error)

	// SessionsOf returns the sessions in which an address was typed, and those of its leads,
	// in the order in which they began. Another address that was typed in the session of a
	// lead is left out, with the name.
	SessionsOf(ctx context.Context, email string) ([]lead.Session, error)
}
