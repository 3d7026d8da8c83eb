package funnel

import (
	"time"

	"siteapi/integrations/store"
	"siteapi/schema"
)

// listRows lists all numbers of the report as one table.
func (r *report) listRows(f store.FunnelFilter, zone *time.Location) {
	since, until := schema.Optional(f.Since), schema.Optional(f.Until)
	add := func(section, dimension, value string) *schema.FunnelRow {
		row := &schema.FunnelRow{Section: section, From: since, To: until, Dimension: dimension, Value: value}
		r.Rows = append(r.Rows, row)
		return row
	}
	number := func(section, dimension, value string, count int) *schema.FunnelRow {
		row := add(section, dimension, value)
		row.Count = &count
		return row
	}
	amounts := func(section string, s *schema.FunnelSource, sums []*schema.FunnelSum) {
		for _, sum := range sums {
			row := add(section, s.Source, s.Campaign)
			row.Amount, row.Currency = &sum.Amount, &sum.Currency
		}
	}

	for _, s := range r.Steps {
		number("steps", "", string(s.Name), s.Count)
	}
	for _, w := range r.Weeks {
		next := schema.StartOfDay(w.Start.In(zone).AddDate(0, 0, 7), zone).UTC()
		for _, s := range w.Steps {
			row := number("weeks", string(schema.ValueOr(w.Locale, "")), string(s.Name), s.Count)
			row.From, row.To = &w.Start, &next
		}
	}
	for _, c := range r.Choices {
		number("choices", c.Field, c.Value, c.Count)
		number("choices.submitted", c.Field, c.Value, c.Submitted)
	}

	for _, s := range r.Sources {
		number("sources.sessions", s.Source, s.Campaign, s.Sessions)
		number("sources.estimates", s.Source, s.Campaign, s.Estimates)
		number("sources.leads", s.Source, s.Campaign, s.Leads)
		amounts("sources.sums", s, s.Sums)
		amounts("sources.won", s, s.Won)
	}
	number("leads", "", "all", r.Leads)
	number("leads", "", "untracked", r.Untracked)
	number("leads", "", "in-review", r.InReview)
}
