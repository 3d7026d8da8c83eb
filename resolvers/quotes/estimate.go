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

// day is the layout of a date without a time.
const day = "2006-01-02"

// Estimate resolves estimateQuote.
func (r *Resolver) Estimate(
	ctx context.Context, in lead.Selections, asked *schema.Locale, strict bool,
) (*schema.QuoteEstimate, error) {
	locale := schema.ValueOr(asked, schema.DefaultLocale)
	perspective := request.CallerFrom(ctx).Preview
	snap, err := r.Content.ReadAs(ctx, perspective, locale)
	if err != nil {
		return nil, err
	}
	if strict {
		if invalid := notOffered(in, snap.Options); len(invalid) > 0 {
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
func notOffered(in lead.Selections, options map[string][]string) (invalid []schema.FieldError) {
	for _, c := range price.Choices(in) {
		path := "selections." + c.Field
		if i := slices.Index(in.Features, c.Slug); c.Field == "features" {
			path += fmt.Sprintf("[%d]", i)
		}
		if !slices.Contains(options[c.Field], c.Slug) {
			invalid = append(invalid, schema.NotAllowed(path, options[c.Field]))
		}
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

	chosen := price.Choices(in)
	q := rules.Quote(chosen)
	estimate.Unpriced = append(estimate.Unpriced, q.Unpriced...)
	if len(q.Unpriced) == len(chosen) || q.Max == 0 { // The price is to be agreed.
		return estimate
	}

	estimate.Min, estimate.Max = new(rules.Units(q.Min)), new(rules.Units(q.Max))
	estimate.Currency, estimate.Revision = &rules.Currency, &rules.Revision
	estimate.ValidUntil = new(r.Now().UTC().AddDate(0, 0, rules.ValidDays).Format(day))
	for _, line := range q.Lines {
		shown := &schema.EstimateLine{Field: line.Field, Amount: rules.Units(line.Amount)}
		if line.Slug == "" {
			shown.Label = lineLabels[locale][line.Field]
		} else { // a slug without a label is shown as it is
			shown.Slug, shown.Label = &line.Slug, cmp.Or(snap.Labels[line.Slug], line.Slug)
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
	current := snap.Prices
	if current == nil {
		return
	}

	rules, status := current, lead.Verified
	if old := r.honored(ctx, current, revision); old != nil {
		rules, status = old, lead.Honored
	}
	q, sent := rules.Quote(price.Choices(l.Selections)), l.Estimate
	differs := !rules.Near(q, sent.Min, sent.Max, sent.Currency)
	if len(q.Unpriced) > 0 {
		status, differs = lead.Unpriced, !rules.Covers(q, sent.Min, sent.Currency)
	}
	l.SentEstimate = &sent
	if !current.Enforce {
		l.PriceStatus, l.Price = lead.NotVerified, &lead.Price{Differs: differs}
		return
	}

	l.PriceStatus, l.Price = status, newPrice(rules, q)
	l.Price.ValidUntil = l.SubmittedAt.AddDate(0, 0, current.ValidDays).Format(day)
	l.Price.Differs = differs
	if status == lead.Unpriced {
		l.Signals = append(l.Signals, lead.UnpricedChoice)
	}
	if differs {
		l.Signals = append(l.Signals, lead.EstimateMismatch)
	}
	if differs || status != lead.Unpriced {
		l.Estimate = lead.Estimate{Min: rules.Units(q.Min), Max: rules.Units(q.Max), Currency: rules.Currency}
	}
}

// newPrice returns the stored form of a quote. If choices are unpriced, the lines do not
// add up to the range, so the minimum and the rounding are omitted.
func newPrice(rules *price.Rules, q price.Quote) *lead.Price {
	p := &lead.Price{Revision: rules.Revision, Unpriced: q.Unpriced}
	for _, line := range q.Lines {
		if line.Slug != "" || len(q.Unpriced) == 0 {
			p.Lines = append(p.Lines, lead.PriceLine{Field: line.Field, Slug: line.Slug, Amount: rules.Units(line.Amount)})
		}
	}
	return p
}

// honored returns the rules of an earlier revision of the same locale, or nil if there
// are none or they were replaced at least honoredFor ago.
func (r *Resolver) honored(ctx context.Context, current *price.Rules, revision string) (old *price.Rules) {
	if revision == current.Revision || !price.IsRevision(revision) {
		return nil
	}
	stored, err := r.Store.Revision(ctx, store.Prices, revision)
	tooOld := !stored.ReplacedAt.IsZero() && r.Now().Sub(stored.ReplacedAt) >= honoredFor
	if errors.Is(err, store.ErrNotFound) || err == nil && (tooOld || stored.Locale != current.Locale) {
		return nil
	}

	if err == nil {
		old, err = price.Decode(stored.Body)
	}
	if err != nil {
		r.Log.Warn().Ctx(ctx).Err(err).Msg("cannot read replaced price rules: applying the current ones")
	}
	return old
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
