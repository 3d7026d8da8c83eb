package content

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/store"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// pricesTime is the longest wait until rules of prices are stored.
const pricesTime = 300 * time.Millisecond

// KeepPrices stores rules the first time that this process uses them, so that a price can
// be computed again after they were replaced. Without rules it stores that there are none.
func (c *Service) KeepPrices(ctx context.Context, locale schema.Locale, rules *price.Rules) error {
	if c.Prices == nil { // a command submits nothing with its prices
		return nil
	}

	p := store.PriceRules{Locale: string(locale)}
	if rules != nil {
		p.Revision, p.Rules = rules.Revision, rules.Encode()
	}
	l := c.locales[locale]
	if c.state(l, nil).prices == p.Revision {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, pricesTime)
	defer cancel()

	if err := c.Prices.UsePriceRules(ctx, p, c.Now()); err != nil {
		c.Log.Warn().Ctx(ctx).Err(err).Str("locale", p.Locale).Msg("cannot store the rules of prices")
		return err
	}

	c.state(l, func(s *localeState) { s.prices = p.Revision })
	return nil
}

// keepLastPrices leaves the last usable rules in force where the published ones can't be
// used. They are read from the database, which has them after a restart, too.
func (c *Service) keepLastPrices(ctx context.Context, locale schema.Locale, snap *Snapshot) {
	if !snap.RulesUnusable || c.Prices == nil {
		return
	}

	ctx, cancel := context.WithTimeout(ctx, pricesTime)
	defer cancel()

	stored, err := c.Prices.CurrentPriceRules(ctx, string(locale))
	if err == nil {
		snap.Prices, err = price.Decode(stored.Rules)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		c.Log.Warn().Ctx(ctx).Err(err).Str("locale", string(locale)).
			Msg("cannot read the last usable rules of prices: there are none in force")
	}
}

// RulesUnusable reports whether the published rules of prices of any locale can't be used.
func (c *Service) RulesUnusable() bool {
	for _, l := range c.locales {
		if latest := l.current(); latest != nil && latest.RulesUnusable {
			return true
		}
	}
	return false
}
