package quotes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/resolvers/price"
	"siteapi/schema"
	"siteapi/schema/request"
)

// honoredFor is how long a replaced price is honored.
const honoredFor = 24 * time.Hour

// EstimateQuote resolves estimateQuote.
func (r *Resolver) EstimateQuote(
	ctx context.Context, in lead.Selections, asked *schema.Locale, strict *bool,
) (*schema.QuoteEstimate, error) {
	locale := schema.ValueOr(asked, schema.DefaultLocale)
	perspective := request.CallerFrom(ctx).Preview
	snap, err := r.Content.ReadAs(ctx, perspective, locale)
	if err != nil {
		return nil, err
	}
	if schema.ValueOr(strict, false) {
		invalid := append(notOffered(in, snap.Options), unmeasured(in, snap.Prices, locale)...)
		if len(invalid) > 0 {
			return nil, schema.BadInput(invalid[:min(len(invalid), schema.MaxFieldErrors)]...)
		}
	}

	estimate := r.newEstimate(snap, in, locale)
	if estimate.Preview = perspective != ""; estimate.Preview {
		estimate.Revision = nil // A lead cannot refer to drafts.
		return estimate, nil
	}
	if r.Content.StorePrices(ctx, locale, snap.Prices) != nil {
		estimate.Revision = nil // The price could not be recomputed.
	}
	return estimate, nil
}

// notOffered returns the errors of choices that are none of the options.
func notOffered(in lead.Selections, options []content.Option) (invalid []schema.FieldError) {
	for _, c := range price.Choices(in) {
		path := "selections." + c.Field
		if i := slices.Index(in.Features, c.Slug); c.Field == "features" {
			path += fmt.Sprintf("[%d]", i)
		}

		var offered []string
		for _, o := range options {
			if o.Field == c.Field {
				offered = append(offered, o.Slug)
			}
		}
		if !slices.Contains(offered, c.Slug) {
			invalid = append(invalid, schema.NotAllowed(path, offered))
		}
	}
	return invalid
}

// unmeasured returns the errors of choices whose quantity is missing or not allowed.
func unmeasured(in lead.Selections, rules *price.Rules, locale schema.Locale) (invalid []schema.FieldError) {
	for _, c := range price.Choices(in) {
		option := rules.Option(c)
		if option == nil || option.Unit.Check(in.Quantity(c.Slug)) == "" {
			continue
		}

		path := "selections.quantities"
		of := func(q lead.Quantity) bool { return q.Slug == c.Slug }
		if i := slices.IndexFunc(in.Quantities, of); i >= 0 {
			path += fmt.Sprintf("[%d].count", i)
		}
		u := option.Unit
		label := u.Label.In(string(locale))
		low, high, step := price.Count(u.Min), price.Count(u.Max), price.Count(u.Step)
		invalid = append(invalid, schema.FieldError{
			Field:  path,
			Code:   u.Check(in.Quantity(c.Slug)),
			Params: map[string]any{"slug": c.Slug, "unit": label, "min": low, "max": high, "step": step},
			Message: fmt.Sprintf("must be from %.10g to %.10g %s in steps of %.10g for %s", low,
				high, label, step, c.Slug),
		})
	}
	return invalid
}

// newEstimate computes the price of choices by the price rules of the content.
func (r *Resolver) newEstimate(
	snap *content.Snapshot, in lead.Selections, locale schema.Locale,
) *schema.QuoteEstimate {
	estimate := &schema.QuoteEstimate{Lines: []*schema.EstimateLine{}, Unpriced: []string{}}
	rules := snap.Prices
	if rules == nil {
		return estimate
	}

	q := rules.Quote(in)
	estimate.Unpriced = append(estimate.Unpriced, q.Unpriced...)
	estimate.TaxNote = schema.Optional(rules.TaxNote.In(string(locale)))
	if q.ToBeAgreed() {
		return estimate
	}

	estimate.Min, estimate.Max = new(rules.Units(q.Min)), new(rules.Units(q.Max))
	if tax := rules.TaxOf(*estimate.Min, *estimate.Max); tax != nil {
		estimate.Tax = &schema.QuoteTax{
			Percent:  tax.Percent,
			Label:    schema.Optional(tax.Labels.In(string(locale))),
			Included: tax.Included,
			Min:      tax.Min,
			Max:      tax.Max,
		}
	}
	estimate.Currency, estimate.Revision = &rules.Currency, &rules.Revision
	estimate.ValidUntil = new(lead.Day(r.Now().In(r.TimeZone), rules.ValidDays))
	for _, line := range q.Lines {
		shown := &schema.EstimateLine{Field: line.Field, Amount: rules.Units(line.Amount)}
		if line.Slug == "" {
			shown.Label = lineLabels[locale][line.Field]
		} else { // a slug without a label is shown as it is
			shown.Slug, shown.Label = &line.Slug, cmp.Or(snap.Labels[line.Slug], line.Slug)
		}
		if line.Unit != nil {
			part := newPriceLine(rules, line)
			shown.Quantity, shown.Unit = new(price.Count(line.Count)), new(line.Unit.Label.In(string(locale)))
			shown.UnitPrice, shown.Flat, shown.Percent = part.UnitPrice, &part.Flat, &part.Percent
		}
		estimate.Lines = append(estimate.Lines, shown)
	}
	return estimate
}

// lineLabels has the labels of lines that are not choices, by locale.
var lineLabels = map[schema.Locale]map[string]string{
	schema.LocaleEn: {lead.LineMinimum: "Minimum", lead.LineRounding: "Rounding"},
	schema.LocaleEs: {lead.LineMinimum: "Importe mínimo", lead.LineRounding: "Redondeo"},
	schema.LocaleRo: {lead.LineMinimum: "Valoare minimă", lead.LineRounding: "Rotunjire"},
}

// setPrice replaces the range that the client sent with the range that the price rules
// compute. It keeps the sent range if the rules are not enforced, or if choices are
// unpriced and the sent range covers the others. Either way it records whether the two
// differ. Without content it only sets the price status; without rules it does not change
// the lead.
func (r *Resolver) setPrice(ctx context.Context, l *lead.Lead, snap *content.Snapshot, revision string) {
	if snap == nil {
		l.PriceStatus = lead.NotVerified
		return
	}
	rules, status := r.honored(ctx, snap.Prices, revision)
	if rules == nil {
		return
	}

	enforced := rules.Enforce || snap.Prices != nil && snap.Prices.Enforce
	setUnits(&l.Selections, rules)
	q, sent := rules.Quote(l.Selections), l.Estimate
	differs := !rules.Near(q, sent.Min, sent.Max, sent.Currency)
	if len(q.Unpriced) > 0 {
		status, differs = lead.Unpriced, !rules.Covers(q, sent.Min, sent.Currency)
	}
	// Where there is no price, clients send 0 and 0.
	agreed := q.ToBeAgreed() && sent.Max == 0 && sent.Currency == rules.Currency
	differs = differs && !agreed
	l.SentEstimate = &sent
	if !enforced {
		l.PriceStatus, l.Price = lead.NotVerified, &lead.Price{Differs: differs, TaxNotes: rules.TaxNote}
		setTax(l, rules, q)
		return
	}

	l.PriceStatus, l.Price = status, newPrice(rules, q)
	l.Price.ValidUntil = lead.Day(l.SubmittedAt.In(r.TimeZone), rules.ValidDays)
	l.Price.Differs = differs
	if status == lead.Unpriced {
		l.Signals = append(l.Signals, lead.UnpricedChoice)
	}
	if differs {
		l.Signals = append(l.Signals, lead.EstimateMismatch)
	}
	if differs || agreed || status != lead.Unpriced {
		l.Estimate = lead.Estimate{Min: rules.Units(q.Min), Max: rules.Units(q.Max), Currency: rules.Currency}
	}
	setTax(l, rules, q)
}

// setTax records the tax of the lead's range. Whether a range that the rules do not give
// includes the tax is not known, so it has none.
func setTax(l *lead.Lead, rules *price.Rules, q price.Quote) {
	near := rules.Near(q, l.Estimate.Min, l.Estimate.Max, l.Estimate.Currency)
	if near && !q.ToBeAgreed() && !l.ToBeAgreed() {
		l.Price.Tax = rules.TaxOf(l.Estimate.Min, l.Estimate.Max)
	}
}

// setUnits records the units of quantities, and drops those of choices without a unit.
// Quantities of choices that the rules do not know stay as they were sent.
func setUnits(s *lead.Selections, rules *price.Rules) {
	// Two fields may have a choice with one slug.
	units, known := map[string]lead.Localized{}, map[string]bool{}
	for _, choice := range price.Choices(*s) {
		option := rules.Option(choice)
		known[choice.Slug] = known[choice.Slug] || option != nil
		if option != nil && option.Unit != nil {
			units[choice.Slug] = option.Unit.Label
		}
	}

	s.Quantities = slices.DeleteFunc(s.Quantities,
		func(q lead.Quantity) bool { return known[q.Slug] && units[q.Slug] == nil })
	for i, q := range s.Quantities {
		s.Quantities[i].Units = units[q.Slug]
	}
}

// newPrice returns the stored form of a quote. If choices are unpriced, the lines do not
// add up to the range, so the minimum and the rounding are omitted.
func newPrice(rules *price.Rules, q price.Quote) *lead.Price {
	p := &lead.Price{Revision: rules.Revision, Unpriced: q.Unpriced, TaxNotes: rules.TaxNote}
	for _, line := range q.Lines {
		if line.Slug != "" || len(q.Unpriced) == 0 {
			p.Lines = append(p.Lines, newPriceLine(rules, line))
		}
	}
	return p
}

// newPriceLine returns the stored form of a line.
func newPriceLine(rules *price.Rules, line price.Line) lead.PriceLine {
	stored := lead.PriceLine{Field: line.Field, Slug: line.Slug, Amount: rules.Units(line.Amount)}
	if line.Unit != nil {
		stored.Flat, stored.Percent = rules.Units(line.Price), price.Percent(line.Percent)
	}
	if line.UnitPrice != nil {
		stored.UnitPrice = new(price.UnitPrice(*line.UnitPrice))
	}
	return stored
}

// honored returns the rules that a revision names, which may be those of another locale,
// unless they were replaced or unpublished at least honoredFor ago. Otherwise it returns the
// current ones, or nil if there are none.
func (r *Resolver) honored(
	ctx context.Context, current *price.Rules, revision string,
) (rules *price.Rules, status lead.PriceStatus) {
	if !price.IsRevision(revision) || current != nil && revision == current.Revision {
		return current, lead.Verified
	}
	stored, err := r.Store.Revision(ctx, store.Prices, revision)
	isReplaced := !stored.ReplacedAt.IsZero()
	tooOld := isReplaced && r.Now().Sub(stored.ReplacedAt) >= honoredFor
	if errors.Is(err, store.ErrNotFound) || err == nil && tooOld {
		return current, lead.Verified
	}

	if err == nil {
		rules, err = price.Decode(stored.Body)
	}
	if err != nil {
		r.Log.Warn().Ctx(ctx).Err(err).Msg("cannot read replaced price rules: applying the current ones")
		return current, lead.Verified
	}
	if isReplaced || current == nil || rules.Locale == current.Locale {
		return rules, lead.Honored
	}
	return rules, lead.Verified // They are in force in another locale.
}

// countPrice counts the price status of a new lead.
func (r *Resolver) countPrice(l *lead.Lead) {
	if l.PriceStatus == "" {
		return
	}
	r.Count("price", strings.ToLower(string(l.PriceStatus)))
	if l.Price != nil && l.Price.Differs {
		r.Count("price", "differs")
	}
}
