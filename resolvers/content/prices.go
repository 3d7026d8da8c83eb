package content

import (
	"context"
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
	p := store.PriceRules{Locale: string(locale)}
	if rules != nil {
		p.Revision = rules.Revision
	}
	l := c.locales[locale]
	if latest := c.state(l, nil).prices; latest != nil && *latest == p.Revision {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, pricesTime)
	defer cancel()

	var err error
	if rules != nil {
		p.Rules, err = rules.Encode()
	}
	if err == nil {
		err = c.Prices.UsePriceRules(ctx, p, c.Now())
	}
	if err != nil {
		c.Log.Warn().Ctx(ctx).Err(err).Str("locale", p.Locale).Msg("cannot store the rules of prices")
		return err
	}

	c.state(l, func(s *localeState) { s.prices = &p.Revision })
	return nil
}

// storePrices keeps the rules of the latest content in the background, so that those
// before it count as replaced from now on, even if no price is asked for.
func (c *Service) storePrices(l *localeContent, rules *price.Rules) {
	if c.Prices == nil {
		return
	}
	c.start(func(ctx context.Context) {
		_ = c.KeepPrices(context.WithoutCancel(ctx), l.locale, rules) // it logs
	})
}
