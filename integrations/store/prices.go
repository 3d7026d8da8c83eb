package store

import (
	"context"
	"time"
)

// PriceRules are the pricing rules of a locale, as the service encodes them. The store
// does not interpret them.
type PriceRules struct {
	Revision   string
	Locale     string
	Rules      string
	ReplacedAt time.Time // when they were replaced; zero: they are current
}

// PriceRulesRetention is how long replaced rules are kept.
const PriceRulesRetention = 30 * 24 * time.Hour

// Prices stores pricing rules, so that a price can be recomputed for some time after its
// rules were replaced.
type Prices interface {
	// UsePriceRules makes rules current for their locale in place of the previous ones.
	// Rules without a revision leave the locale without current rules. Repeating a call
	// changes nothing.
	UsePriceRules(ctx context.Context, p PriceRules, now time.Time) error
	// CurrentPriceRules returns the current rules of a locale, or ErrNotFound.
	CurrentPriceRules(ctx context.Context, locale string) (PriceRules, error)
	// PriceRules returns the rules with a revision, or ErrNotFound.
	PriceRules(ctx context.Context, revision string) (PriceRules, error)
}
