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

const selectPriceRules = `SELECT revision, locale, rules, replaced_at FROM price_rules`

// UsePriceRules makes rules current for their locale. Without a revision, the locale has
// none.
func (s *Store) UsePriceRules(ctx context.Context, p PriceRules, now time.Time) error {
	return s.write(ctx, "storing pricing rules", func(ctx context.Context, tx Tx) error {
		if p.Revision != "" {
			_, err := tx.Exec(ctx, `INSERT INTO price_rules (revision, locale, rules, replaced_at)
VALUES ($1, $2, $3, 0) ON CONFLICT (revision) DO UPDATE SET replaced_at = 0`, p.Revision, p.Locale, p.Rules)
			if err != nil {
				return err
			}
		}

		_, err := tx.Exec(ctx, `UPDATE price_rules SET replaced_at = $1
WHERE locale = $2 AND revision <> $3 AND replaced_at = 0`, now, p.Locale, p.Revision)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM price_rules WHERE replaced_at BETWEEN 1 AND $1`,
			now.Add(-PriceRulesRetention))
		return err
	})
}

// PriceRules returns the rules with a revision, or [ErrNotFound].
func (s *Store) PriceRules(ctx context.Context, revision string) (PriceRules, error) {
	return one[PriceRules](ctx, s.db, "reading pricing rules",
		selectPriceRules+` WHERE revision = $1`, revision)
}

// CurrentPriceRules returns the current rules of a locale, or [ErrNotFound].
func (s *Store) CurrentPriceRules(ctx context.Context, locale string) (PriceRules, error) {
	return one[PriceRules](ctx, s.db, "reading the current pricing rules",
		selectPriceRules+` WHERE locale = $1 AND replaced_at = 0`, locale)
}
