package operators

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// Funnel resolves the root field of that name.
func (r *Resolver) Funnel(ctx context.Context, f store.FunnelFilter) (*schema.Funnel, error) {
	counted, err := r.Leads.Funnel(ctx, f)
	if err != nil {
		return nil, coded(err)
	}
	return NewFunnel(counted), nil
}

// NewFunnel returns a funnel as operators see it.
func NewFunnel(f *leads.Funnel) *schema.Funnel {
	shown := &schema.Funnel{
		Steps:       newFunnelSteps(f.Steps),
		Weeks:       make([]*schema.FunnelWeek, len(f.Weeks)),
		Choices:     make([]*schema.FunnelChoice, len(f.Choices)),
		Sources:     make([]*schema.FunnelSource, len(f.Sources)),
		Submissions: f.Submissions,
		Untracked:   f.Untracked,
		InReview:    f.InReview,
	}

	for i, w := range f.Weeks {
		year, number := w.Start.ISOWeek()
		shown.Weeks[i] = &schema.FunnelWeek{
			Week:  fmt.Sprintf("%d-W%02d", year, number),
			Start: w.Start,
			Steps: newFunnelSteps(w.Steps),
		}
		if locale := schema.Locale(w.Locale); locale != "" {
			shown.Weeks[i].Locale = &locale
		}
	}

	for i, c := range f.Choices {
		shown.Choices[i] = &schema.FunnelChoice{
			Field:     c.Field,
			Value:     c.Value,
			Count:     c.Count,
			Submitted: c.Submitted,
		}
	}
	for i, s := range f.Sources {
		shown.Sources[i] = &schema.FunnelSource{
			Source:      s.Source,
			Campaign:    s.Campaign,
			Sessions:    s.Sessions,
			Estimates:   s.Estimates,
			Submissions: s.Submissions,
			Sums:        newFunnelSums(s.Sums),
			Won:         newFunnelSums(s.Won),
		}
	}

	return shown
}

// newFunnelSteps names the numbers of sessions that reached each step.
func newFunnelSteps(reached leads.Steps) []*schema.FunnelStep {
	list := make([]*schema.FunnelStep, len(reached))
	for i, name := range schema.AllFunnelStepName {
		list[i] = &schema.FunnelStep{Name: name, Count: reached[i]}
		if i > 0 && reached[i-1] > 0 {
			conversion := float64(reached[i]) / float64(reached[i-1])
			list[i].Conversion = &conversion
		}
	}
	return list
}

// newFunnelSums lists amounts by currency.
func newFunnelSums(amounts map[string]float64) []*schema.FunnelSum {
	sums := []*schema.FunnelSum{}
	for _, currency := range slices.Sorted(maps.Keys(amounts)) {
		sums = append(sums, &schema.FunnelSum{
			Currency: currency,
			Amount:   math.Round(amounts[currency]*100) / 100, // adding up leaves traces
		})
	}
	return sums
}
