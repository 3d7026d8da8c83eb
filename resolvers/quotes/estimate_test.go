package quotes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// pricedCMS is a CMS with rules and one option, which may stop answering.
type pricedCMS struct {
	hangs chan struct{} // nil: it answers
	err   error
}

func (c *pricedCMS) Fetch(ctx context.Context, _ cms.Query) ([]cms.Document, error) {
	if c.hangs != nil {
		select {
		case <-c.hangs:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return []cms.Document{
		{
			ID:     cms.RulesType,
			Type:   cms.RulesType,
			Fields: []byte(`{"currency":"EUR","spreadPercent":50,"roundTo":100,"enforce":true}`),
		},
		{
			ID:     "option",
			Type:   cms.OptionType,
			Fields: []byte(`{"group":"projectType","slug":"web-app","price":12000}`),
		},
	}, c.err
}

func (*pricedCMS) Ping(context.Context) error { return nil }

func newResolver(t *testing.T, source cms.Content, fallbackDir string, prices store.Prices) *Resolver {
	t.Helper()
	m := memory.New()
	t.Cleanup(func() { _ = m.Close() })

	service := content.New(content.Options{
		CMS:         source,
		Cache:       m,
		Prices:      prices,
		FallbackDir: fallbackDir,
		Log:         zerolog.Nop(),
		Now:         time.Now,
		Life:        cache.Lifetime{Fresh: time.Hour, Stale: time.Hour},
	})
	t.Cleanup(func() { _ = service.Close(context.Background()) })
	return New(Deps{Content: service, Prices: prices, Log: zerolog.Nop(), Now: time.Now})
}

// noPrices is a database that is away.
type noPrices struct{ store.Prices }

func (noPrices) UsePriceRules(context.Context, store.PriceRules, time.Time) error {
	return store.ErrUnavailable
}

func (noPrices) PriceRules(context.Context, string) (store.PriceRules, error) {
	return store.PriceRules{}, store.ErrUnavailable
}

// TestSubmissionsWaitBrieflyForContent, and take the copy of an earlier process instead.
func TestSubmissionsWaitBrieflyForContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	resolver := func(source *pricedCMS) *Resolver {
		return newResolver(t, source, dir, noPrices{})
	}
	price := func(source *pricedCMS) (lead.Lead, time.Duration) {
		l, r := newLead(input()), resolver(source)
		began := time.Now()
		r.setPrice(t.Context(), &l, r.contentSoon(t.Context(), &l), "")
		return l, time.Since(began)
	}
	hangs := &pricedCMS{hangs: make(chan struct{})}

	for _, source := range []*pricedCMS{hangs, {err: errors.New("away")}} {
		l, took := price(source)
		if l.PriceStatus != lead.NotVerified || l.Estimate.Min != 1000 || l.Price != nil || took > 5*time.Second {
			t.Errorf("without any content: %+v after %v", l, took)
		}
	}
	if _, err := resolver(&pricedCMS{}).Content.Read(t.Context(), schema.LocaleRo); err != nil {
		t.Fatal(err)
	}
	for _, source := range []*pricedCMS{hangs, {err: errors.New("away")}} {
		if l, took := price(source); l.PriceStatus != lead.Unpriced || l.Price == nil || took > 5*time.Second {
			t.Errorf("with the copy: %+v after %v", l, took)
		}
	}
}

// TestEstimateWithoutTheDatabase answers, but offers nothing to be honoured.
func TestEstimateWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	r := newResolver(t, &pricedCMS{}, t.TempDir(), noPrices{})
	chosen := schema.EstimateSelectionsInput{ProjectType: ptr("web-app")}
	got, err := r.Estimate(t.Context(), chosen, nil)
	if err != nil || got.Min == nil || *got.Min != 12000 || *got.Max != 18000 || got.Revision != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestEveryLocaleLabelsLines(t *testing.T) {
	t.Parallel()
	for _, locale := range schema.AllLocale {
		for _, field := range []string{price.FieldMinimum, price.FieldRounding} {
			if lineLabels[locale][field] == "" {
				t.Errorf("lineLabels lacks %q in %s", field, locale)
			}
		}
	}
}
