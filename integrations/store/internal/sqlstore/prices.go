package sqlstore

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/store"
)

// PriceRow is a row of the rules of prices as it is stored.
type PriceRow struct {
	Revision   string
	Locale     string
	Rules      string
	FirstUsed  int64 // milliseconds
	ReplacedAt int64 // milliseconds; 0: current
}

const (
	priceColumns  = `revision, locale, rules, first_used, replaced_at`
	usePriceRules = `INSERT INTO price_rules (` + priceColumns + `) VALUES ($1, $2, $3, $4, 0)
ON CONFLICT (revision) DO UPDATE SET replaced_at = 0`
	replacePriceRules = `UPDATE price_rules SET replaced_at = $1
WHERE locale = $2 AND revision <> $3 AND replaced_at = 0`
	importPriceRules = `INSERT INTO price_rules (` + priceColumns + `) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (revision) DO UPDATE SET replaced_at = excluded.replaced_at WHERE price_rules.replaced_at = 0`
)

// UsePriceRules makes rules the current ones of their locale, none without a revision.
func (s *Store) UsePriceRules(ctx context.Context, p store.PriceRules, now time.Time) error {
	return s.write(ctx, "storing the rules of prices", func(ctx context.Context, tx Tx) error {
		at := now.UnixMilli()
		if p.Revision != "" {
			if _, err := tx.Exec(ctx, usePriceRules, p.Revision, p.Locale, p.Rules, at); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, replacePriceRules, at, p.Locale, p.Revision); err != nil {
			return fmt.Errorf("replacing the earlier ones: %w", err)
		}
		_, err := tx.Exec(ctx, `DELETE FROM price_rules WHERE replaced_at BETWEEN 1 AND $1`,
			now.Add(-store.PriceRulesKept).UnixMilli())
		return err
	})
}

// PriceRules returns the rules with a revision, or [store.ErrNotFound].
func (s *Store) PriceRules(ctx context.Context, revision string) (store.PriceRules, error) {
	p := store.PriceRules{Revision: revision}
	var replaced int64
	err := one(ctx, s.db, `SELECT locale, rules, replaced_at FROM price_rules WHERE revision = $1`,
		[]any{revision}, &p.Locale, &p.Rules, &replaced)
	if err != nil {
		return store.PriceRules{}, fmt.Errorf("reading the rules of prices: %w", err)
	}
	if replaced > 0 {
		p.ReplacedAt = time.UnixMilli(replaced).UTC()
	}
	return p, nil
}

// CurrentPriceRules returns the current rules of a locale, or [store.ErrNotFound].
func (s *Store) CurrentPriceRules(ctx context.Context, locale string) (store.PriceRules, error) {
	p := store.PriceRules{Locale: locale}
	err := one(ctx, s.db, `SELECT revision, rules FROM price_rules WHERE locale = $1 AND replaced_at = 0`,
		[]any{locale}, &p.Revision, &p.Rules)
	if err != nil {
		return store.PriceRules{}, fmt.Errorf("reading the current rules of prices: %w", err)
	}
	return p, nil
}
