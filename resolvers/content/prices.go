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
// be computed again after they were replaced.
func (c *Service) KeepPrices(ctx context.Context, rules *price.Rules) error {
	stored := &c.locales[schema.Locale(rules.Locale)].storedPrices
	if latest := stored.Load(); latest != nil && *latest == rules.Revision {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, pricesTime)
	defer cancel()

	text, err := rules.Encode()
	if err == nil {
		p := store.PriceRules{Revision: rules.Revision, Locale: rules.Locale, Rules: text}
		err = c.Prices.UsePriceRules(ctx, p, c.Now())
	}
	if err != nil {
		c.Log.Warn().Ctx(ctx).Err(err).Str("locale", rules.Locale).Msg("cannot store the rules of prices")
		return err
	}

	stored.Store(&rules.Revision)
	return nil
}

// storePrices keeps the rules of new content in the background, so that those before it
// count as replaced from now on, even if no price is asked for.
func (c *Service) storePrices(rules *price.Rules) {
	if rules != nil && c.Prices != nil {
		c.start(func(context.Context) { _ = c.KeepPrices(context.Background(), rules) }) // it logs
	}
}
