// Package quotes resolves what visitors do in the calculator: estimateQuote prices their
// choices, trackQuote stores them while they are being made, and submitQuote makes a lead
// of them. What becomes of a lead afterwards is up to its deliveries.
package quotes

import (
	"errors"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/ratelimit"
	"siteapi/integrations/store"
	"siteapi/integrations/turnstile"
	"siteapi/resolvers/apierror"
	"siteapi/resolvers/content"
	"siteapi/schema"
)

// Deps are the dependencies and settings of a [Resolver]. A field is required unless its
// comment says otherwise.
type Deps struct {
	Content *content.Service
	Quotes  store.Quotes
	Prices  store.Prices
	Log     zerolog.Logger
	Now     func() time.Time
	NewID   func() string // returns an opaque id with at least 122 random bits

	// Network returns the keyed hash of the network of a client's address, or nothing if
	// mails are not limited by networks.
	Network func(address string) string

	// Limiter counts the new sessions and the leads of a network; nil: they are not limited.
	Limiter ratelimit.Limiter

	// MinTime is the shortest plausible time from a session's first tracked state to its
	// lead. 0: any time is plausible.
	MinTime time.Duration

	// TrackContact says whether trackQuote keeps contact hints: TrackContactOn,
	// TrackContactConsent or TrackContactOff.
	TrackContact string

	// Challenge verifies the token of a bot check. nil: leads need no token.
	Challenge *turnstile.Verifier

	// Count counts events, such as "submission", by an outcome.
	Count func(event, detail string)

	// ObserveDatabase is told of each operation of the database that a visitor waited for,
	// such as "submit", and when it began.
	ObserveDatabase func(operation string, began time.Time, err error)
}

// Resolver resolves the fields of visitors.
type Resolver struct {
	Deps
	formats *schema.Formats
}

// New returns a resolver over its dependencies.
func New(d Deps) *Resolver { return &Resolver{Deps: d, formats: schema.NewFormats()} }

// storeError turns the errors of storing a track or a lead into coded errors.
func storeError(err error) error {
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return schema.Unavailable("The request can't be stored at the moment, though it may have been. "+
			"Please send the same again: that is safe and makes no second lead.", err)
	case errors.Is(err, store.ErrKeyReused):
		return &schema.Error{
			Code:    schema.CodeIdempotencyKeyReused,
			Message: "This Idempotency-Key was used for other content. Send a new key for a new attempt.",
		}
	}
	return apierror.From(err)
}
