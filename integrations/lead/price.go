package lead

import (
	"cmp"
	"slices"
	"strconv"
)

// PriceStatus is the origin of a lead's price range.
type PriceStatus string

// The statuses of prices.
const (
	Verified    PriceStatus = "VERIFIED"     // computed by the service, by the rules at that time
	Honored     PriceStatus = "HONORED"      // computed by the service, by rules that had just been replaced
	Unpriced    PriceStatus = "UNPRICED"     // to be confirmed: choices have no price, or all exceed 1e9
	NotVerified PriceStatus = "NOT_VERIFIED" // sent by the client
)

// Price is the service's calculation of a lead's price.
type Price struct {
	Revision   string      `json:"revision,omitempty"`   // identifies the rules
	ValidUntil string      `json:"validUntil,omitempty"` // last day in TIME_ZONE: 2006-01-02
	Lines      []PriceLine `json:"lines,omitempty"`      // add up to the lower bound, unless choices are unpriced
	Unpriced   []string    `json:"unpriced,omitempty"`   // slugs without a price
	// Differs reports whether the client sent another range.
	Differs bool `json:"differs,omitempty"`

	Tax      *Tax      `json:"tax,omitempty"`     // nil: the rules have none, or there is no price
	TaxNotes Localized `json:"taxNote,omitempty"` // the firm's note on taxes
}

// TaxNote returns the firm's note on taxes in the default language.
func (p *Price) TaxNote() string { return p.TaxNotes.In(defaultLanguage) }

// Tax is the tax on a range, or the tax that the range includes.
type Tax struct {
	Percent  float64   `json:"percent"`
	Labels   Localized `json:"label,omitempty"` // such as VAT
	Included bool      `json:"included,omitempty"`
	Min      float64   `json:"min"` // tax of the lower bound
	Max      float64   `json:"max"`
}

// Label returns the name of the tax in the default language.
func (t *Tax) Label() string { return t.Labels.In(defaultLanguage) }

// String returns the tax without its amounts, such as "plus 19% VAT".
func (t *Tax) String() string {
	relation := "plus "
	if t.Included {
		relation = "including "
	}
	return relation + strconv.FormatFloat(t.Percent, 'f', -1, 64) + "% " + cmp.Or(t.Label(), "tax")
}

// ToBeAgreed reports whether the lead has no price: its range is 0, or none of its
// choices has a price.
func (l *Lead) ToBeAgreed() bool {
	p := l.Price
	unpriced := p != nil && len(p.Unpriced) > 0 &&
		!slices.ContainsFunc(p.Lines, func(line PriceLine) bool { return line.Slug != "" })
	return l.Estimate.Max == 0 || unpriced
}

// Line returns the line of a choice, or nil if the choice has no price. A nil Price has none.
func (p *Price) Line(field, slug string) *PriceLine {
	if p == nil {
		return nil
	}
	for i, line := range p.Lines {
		if line.Field == field && line.Slug == slug {
			return &p.Lines[i]
		}
	}
	return nil
}

// PriceLine is a part of a price: a choice, or the minimum or the rounding, both without
// a slug.
type PriceLine struct {
	Field  string  `json:"field"`
	Slug   string  `json:"slug,omitempty"`
	Amount float64 `json:"amount"`

	// A choice that is priced by its quantity has these parts. UnitPrice is nil if its units
	// have different prices; Flat is the fixed amount, and Percent the share of all prices.
	UnitPrice *float64 `json:"unitPrice,omitempty"`
	Flat      float64  `json:"flat,omitempty"`
	Percent   float64  `json:"percent,omitempty"`
}

// Fields of the lines that are not choices.
const (
	LineMinimum  = "minimum"
	LineRounding = "rounding"
)
