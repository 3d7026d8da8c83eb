package quotes

import (
	"cmp"
	"context"

	"siteapi/resolvers/price"
	"siteapi/schema"
	"siteapi/schema/request"
)

// QuoteOptions resolves quoteOptions.
func (r *Resolver) QuoteOptions(ctx context.Context, locale schema.Locale) ([]*schema.QuoteOption, error) {
	snap, err := r.Content.ReadAs(ctx, request.CallerFrom(ctx).Preview, locale)
	if err != nil {
		return nil, err
	}

	options := make([]*schema.QuoteOption, len(snap.Options))
	for i, o := range snap.Options {
		options[i] = &schema.QuoteOption{
			Field: o.Field,
			Slug:  o.Slug,
			Label: cmp.Or(snap.Labels[o.Slug], o.Slug),
			Order: o.Order,
			Tiers: []*schema.QuoteTier{},
		}
		if snap.Prices != nil {
			options[i].Currency = &snap.Prices.Currency
		}
		if priced := snap.Prices.Option(o.Choice); priced != nil {
			options[i].Price = new(snap.Prices.Units(priced.Price))
			options[i].Percent = new(price.Percent(priced.Percent))
			setUnit(options[i], priced.Unit, locale)
		}
	}
	return options, nil
}

// setUnit sets how an option is priced by its quantity. A nil unit means that it is not.
func setUnit(o *schema.QuoteOption, u *price.Unit, locale schema.Locale) {
	if u == nil {
		return
	}

	o.Unit, o.Graduated = new(u.Label.In(string(locale))), &u.Graduated
	o.MinQuantity, o.MaxQuantity = new(price.Count(u.Min)), new(price.Count(u.Max))
	o.Step, o.Quantity = new(price.Count(u.Step)), new(price.Count(u.Quantity))
	if len(u.Tiers) == 1 {
		o.UnitPrice = new(price.UnitPrice(u.Tiers[0].Price))
		return
	}

	for _, t := range u.Tiers {
		tier := &schema.QuoteTier{UnitPrice: price.UnitPrice(t.Price)}
		if t.UpTo != 0 {
			tier.UpTo = new(price.Count(t.UpTo))
		}
		o.Tiers = append(o.Tiers, tier)
	}
}
