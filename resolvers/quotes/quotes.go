// Package quotes resolves the fields of the calculator: estimateQuote prices a visitor's
// choices, trackQuote stores them while the visitor is still choosing, and submitQuote
// creates a lead from them. The deliveries of the lead run afterward.
package quotes

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/lead"
	"siteapi/integrations/ratelimit"
	"siteapi/integrations/store"
	"siteapi/integrations/turnstile"
	"siteapi/resolvers/content"
	"siteapi/schema"
)

// Store is the part of the store that visitors need.
type Store interface {
	Track(ctx context.Context, v lead.Visit) error
	Submit(ctx context.Context, n store.NewLead) (l lead.Lead, created bool, err error)
	Session(ctx context.Context, id string) (lead.Session, error)
	HasContent(ctx context.Context, key string) (bool, error)
	Revision(ctx context.Context, kind, revision string) (store.Revision, error)
}

// Deps are the dependencies and settings of a [Resolver]. A field is required unless its
// comment states otherwise.
type Deps struct {
	Content *content.Service
	Store   Store
	Log     zerolog.Logger
	Now     func() time.Time

	// TimeZone is the zone of the last day on which a quote is valid.
	TimeZone *time.Location

	// Network returns the keyed hash of a client's network, or an empty text if mails are
	// not limited by network.
	Network func(ctx context.Context, address string) (string, error)

	// SiteURL is the absolute address of the service; empty: addresses are relative.
	SiteURL string

	// Limiter limits the new sessions and the leads of a network. nil: no limit.
	Limiter ratelimit.Limiter

	// MinTime is the shortest plausible time from a session's first tracked state to its
	// lead. 0: no minimum.
	MinTime time.Duration

	// TrackContact configures whether trackQuote stores contact hints: TrackContactOn,
	// TrackContactConsent or TrackContactOff.
	TrackContact string

	// Challenge verifies the token of a bot check. nil: no bot check.
	Challenge *turnstile.Verifier

	// Count counts events, such as "submission", by an outcome.
	Count func(event, detail string)

	// ObserveDatabase records a database operation that a visitor waited for, such as
	// "submit", with its start and error.
	ObserveDatabase func(operation string, began time.Time, err error)
}

// Resolver resolves the fields of the calculator.
type Resolver struct{ Deps }

// New returns a resolver over its dependencies.
func New(d Deps) *Resolver { return &Resolver{d} }

// storeError converts errors of storing a visit or a lead to coded errors.
func storeError(err error) error {
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return schema.Unavailable("The database is unavailable, so it is unknown whether the request "+
			"was stored. Please send the same request again: that is safe and creates no second lead.", err)
	case errors.Is(err, store.ErrKeyReused):
		return schema.NewError(schema.CodeIdempotencyKeyReused,
			"This Idempotency-Key was used for other content. Send a new key for a new attempt.")
	}
	return err
}
