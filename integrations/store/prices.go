package store

import (
	"context"
	"time"
)

// PriceRules are the rules by which the choices of a locale were priced, as the service
// encodes them. The store only keeps them.
type PriceRules struct {
	Revision   string
	Locale     string
	Rules      string
	ReplacedAt time.Time // since when they are not the current ones of the locale; zero: they are
}

// PriceRulesKept is how long replaced rules are kept.
const PriceRulesKept = 30 * 24 * time.Hour

// Prices keeps the rules of prices, so that a price can be computed again for some time
// after the rules were replaced.
type Prices interface {
	// UsePriceRules makes rules the current ones of their locale, and replaces those that
	// were. Rules without a revision stand for none: they only replace. Repeating it
	// changes nothing.
	UsePriceRules(ctx context.Context, p PriceRules, now time.Time) error
	// CurrentPriceRules returns the current rules of a locale, or ErrNotFound.
	CurrentPriceRules(ctx context.Context, locale string) (PriceRules, error)
	// PriceRules returns the rules with a revision, or ErrNotFound.
	PriceRules(ctx context.Context, revision string) (PriceRules, error)
}
