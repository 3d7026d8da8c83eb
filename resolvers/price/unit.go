package price

import (
	"math/big"

	"siteapi/integrations/lead"
	"siteapi/schema"
)

// Decimals of quantities and of the price of a unit, and their product: the parts of a
// currency unit in which a quantity is priced.
const (
	countPlaces     = 2
	unitPricePlaces = 4
	costParts       = 1_000_000
)

// Unit prices an option by its quantity. Quantities are in hundredths of a unit.
type Unit struct {
	Label     lead.Localized `json:"label"`
	Tiers     []Tier         `json:"tiers"`               // rising; a price for all units is one tier
	Graduated bool           `json:"graduated,omitempty"` // each unit has the price of its own tier

	// A quantity is Min plus a multiple of Step, up to Max. Quantity is what a form shows
	// first.
	Min      int64 `json:"min"`
	Max      int64 `json:"max"`
	Step     int64 `json:"step"`
	Quantity int64 `json:"quantity"`
}

// Tier is the price of a unit, in ten-thousandths of a currency unit, for quantities up to
// UpTo. The last tier has an UpTo of 0 and no limit.
type Tier struct {
	UpTo  int64 `json:"upTo,omitempty"`
	Price int64 `json:"price"`
}

// Count converts a quantity in hundredths to units.
func Count(hundredths int64) float64 { return float64(hundredths) / 100 }

// Percent converts parts of [whole] to a percentage.
func Percent(parts int64) float64 { return float64(parts) * 100 / whole }

// UnitPrice converts a price of one unit to units of the currency.
func UnitPrice(tenThousandths int64) float64 { return float64(tenThousandths) / 10_000 }

// Check returns why an option with this unit has no price for a quantity, or "" if it has
// one. Without a unit any quantity will do.
func (u *Unit) Check(quantity lead.Quantity) schema.FieldCode {
	if u == nil {
		return ""
	}
	count, ok := decimal(quantity.Count, countPlaces)
	switch {
	case quantity.Count == 0:
		return schema.FieldCodeQuantityRequired
	case count < u.Min || count > u.Max:
		return schema.FieldCodeOutOfBounds
	case !ok || (count-u.Min)%u.Step != 0:
		return schema.FieldCodeOutOfStep
	}
	return ""
}

// cost returns the price of a quantity in costParts of a currency unit, and the price of one
// unit, which is nil if the units have different prices.
func (u *Unit) cost(count int64) (total *big.Int, each *int64) {
	total = new(big.Int)
	below := int64(0) // quantity in the tiers before
	for i := range u.Tiers {
		tier := &u.Tiers[i]
		last := tier.UpTo == 0 || count <= tier.UpTo
		switch {
		case last:
			total.Add(total, product(count-below, tier.Price))
		case u.Graduated:
			total.Add(total, product(tier.UpTo-below, tier.Price))
			below = tier.UpTo
		}

		if last && below == 0 {
			each = &tier.Price
		}
		if last {
			break
		}
	}
	return total, each
}

// Tax is the tax that is shown for a range.
type Tax struct {
	Percent  int64          `json:"percent"`            // in hundredths of a percent
	Included bool           `json:"included,omitempty"` // whether prices include it
	Label    lead.Localized `json:"label,omitempty"`
}

// of returns the tax on an amount, or the tax that the amount includes.
func (t *Tax) of(amount int64) int64 {
	base := int64(100_00)
	if t.Included {
		base += t.Percent
	}
	return rounded(product(amount, t.Percent), big.NewInt(base)).Int64()
}

// TaxOf returns the tax of a range, in units of the currency. It is nil if the rules have none.
func (r *Rules) TaxOf(low, high float64) *lead.Tax {
	t := r.Tax
	if t == nil {
		return nil
	}
	return &lead.Tax{
		Percent:  float64(t.Percent) / 100,
		Labels:   t.Label,
		Included: t.Included,
		Min:      r.Units(t.of(r.minor(low))),
		Max:      r.Units(t.of(r.minor(high))),
	}
}
