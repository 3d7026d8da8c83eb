package content

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/store"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// pricesTime limits the time for storing or reading price rules.
const pricesTime = 300 * time.Millisecond

// StorePrices stores price rules before this process first uses them, so that a price can
// be recomputed after the rules are replaced. A nil rules records that the locale has
// none.
func (c *Service) StorePrices(ctx context.Context, locale schema.Locale, rules *price.Rules) error {
	if c.Prices == nil { // a command accepts no leads
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
		c.Log.Warn().Ctx(ctx).Err(err).Str("locale", p.Locale).
			Msg("cannot store the price rules: prices cannot be recomputed after a change")
		return err
	}

	c.state(l, func(s *localeState) { s.prices = p.Revision })
	return nil
}

// keepLastPrices keeps the last usable price rules in force if the published ones are
// unusable. It reads them from the database, so they survive a restart.
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
			Msg("cannot read the last usable price rules: no price rules are in force")
	}
}

// RulesUnusable reports whether the published price rules of any locale are unusable.
func (c *Service) RulesUnusable() bool {
	for _, l := range c.locales {
		if latest := l.current(); latest != nil && latest.RulesUnusable {
			return true
		}
	}
	return false
}
