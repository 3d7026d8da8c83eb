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
	ReplacedAt time.Time // when others became current in the locale; zero: they did not
}

// PriceRulesKept is how long replaced rules are kept.
const PriceRulesKept = 30 * 24 * time.Hour

// Prices keeps the rules of prices, so that a price can be computed again for some time
// after the rules were replaced.
type Prices interface {
	// UsePriceRules makes rules the current ones of their locale, and replaces those that
	// were. Repeating it changes nothing.
	UsePriceRules(ctx context.Context, p PriceRules, now time.Time) error
	// PriceRules returns the rules with a revision, or ErrNotFound.
	PriceRules(ctx context.Context, revision string) (PriceRules, error)
}
