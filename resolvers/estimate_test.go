package resolvers

import (
	"context"
	"errors"
	"testing"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
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
		r := newContentResolver(t, source, dir, &clock{})
		r.Prices = noPrices{}
		return r
	}
	price := func(source *pricedCMS) (lead.Lead, time.Duration) {
		l := newLead(input())
		began := time.Now()
		resolver(source).setPrice(t.Context(), &l, "")
		return l, time.Since(began)
	}
	hangs := &pricedCMS{hangs: make(chan struct{})}

	for _, source := range []*pricedCMS{hangs, {err: errors.New("away")}} {
		l, took := price(source)
		if l.PriceStatus != lead.NotVerified || l.Estimate.Min != 1000 || l.Price != nil || took > 5*time.Second {
			t.Errorf("without any content: %+v after %v", l, took)
		}
	}
	if _, err := resolver(&pricedCMS{}).content.read(t.Context(), schema.LocaleRo); err != nil {
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
	r := newContentResolver(t, &pricedCMS{}, t.TempDir(), &clock{})
	r.Prices = noPrices{}
	chosen := schema.EstimateSelectionsInput{ProjectType: ptr("web-app")}
	got, err := r.estimateQuote(t.Context(), chosen, nil)
	if err != nil || got.Min == nil || *got.Min != 12000 || *got.Max != 18000 || got.Revision != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}
