package leads

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

const (
	groupsShown = 50         // groups of a report, except months
	others      = "(others)" // the sum of all other groups
)

// LeadReport resolves the root field `leadReport`.
func (r *Resolver) LeadReport(
	ctx context.Context, since, until *time.Time, by schema.LeadReportGroup,
) (*schema.LeadReport, error) {
	groups, total := map[string]*group{}, newGroup("")
	from, to := schema.ValueOr(since, time.Time{}), schema.ValueOr(until, time.Time{})
	err := r.Store.Report(ctx, from, to, func(l store.ReportedLead) {
		name := r.groupOf(l, by)
		key := strings.ToLower(name) // filters take all spellings
		if groups[key] == nil {
			groups[key] = newGroup(name)
		}
		groups[key].Name = max(groups[key].Name, name) // whatever the order of the leads
		groups[key].add(l)
		total.add(l)
	})
	if err != nil {
		return nil, err
	}

	report := &schema.LeadReport{By: by, Groups: []*schema.LeadReportRow{}, Total: total.row(since, until)}
	if by == schema.LeadReportGroupMonth {
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			begins, ends := r.bounds(name, since, until)
			report.Groups = append(report.Groups, groups[name].row(begins, ends))
		}
		return report, nil
	}

	rest := newGroup(others)
	for i, g := range slices.SortedFunc(maps.Values(groups), byLeads) {
		if i < groupsShown {
			report.Groups = append(report.Groups, g.row(since, until))
			continue
		}
		rest.join(g)
	}
	if rest.Leads > 0 {
		report.Groups = append(report.Groups, rest.row(since, until))
	}
	return report, nil
}

// month is the format of the name of a month.
const month = "2006-01"

// groupOf returns the name of a lead's group.
func (r *Resolver) groupOf(l store.ReportedLead, by schema.LeadReportGroup) string {
	switch by {
	case schema.LeadReportGroupSource:
		return l.Source
	case schema.LeadReportGroupCampaign:
		return l.Campaign
	case schema.LeadReportGroupOwner:
		return l.Owner
	}
	return l.SubmittedAt.In(r.TimeZone).Format(month)
}

// bounds returns the start and the end of a month within those of a report.
func (r *Resolver) bounds(name string, since, until *time.Time) (begins, ends *time.Time) {
	first, _ := time.Parse(month, name) // groupOf formatted it
	start := schema.StartOfDay(first, r.TimeZone).UTC()
	end := schema.StartOfDay(first.AddDate(0, 1, 0), r.TimeZone).UTC()
	begins, ends = &start, &end
	if since != nil && since.After(start) {
		begins = since
	}
	if until != nil && until.Before(end) {
		ends = until
	}
	return begins, ends
}

// group has the numbers of a group of leads.
type group struct {
	schema.LeadReportRow
	won    map[string]float64 // amounts by currency
	answer []time.Duration    // times from the submission to the first answer
}

func newGroup(name string) *group {
	return &group{LeadReportRow: schema.LeadReportRow{Name: name}, won: map[string]float64{}}
}

// byLeads orders groups, those with the most leads first.
func byLeads(a, b *group) int {
	return cmp.Or(cmp.Compare(b.Leads, a.Leads), strings.Compare(a.Name, b.Name))
}

// add counts a lead.
func (g *group) add(l store.ReportedLead) {
	g.Leads++
	switch l.Result {
	case lead.ResultWon:
		g.Won++
	case lead.ResultLost:
		g.Lost++
	}

	if l.WonCurrency != "" {
		g.won[l.WonCurrency] += l.WonAmount
	}
	if l.AnsweredInTime {
		g.AnsweredWithinDay++
	}
	if !l.AnsweredAt.IsZero() {
		g.answer = append(g.answer, l.AnsweredAt.Sub(l.SubmittedAt))
	}
}

// join adds the numbers of another group.
func (g *group) join(other *group) {
	g.Leads += other.Leads
	g.AnsweredWithinDay += other.AnsweredWithinDay
	g.Won += other.Won
	g.Lost += other.Lost
	for currency, amount := range other.won {
		g.won[currency] += amount
	}
	g.answer = append(g.answer, other.answer...)
}

// row returns the numbers with the bounds of the group's leads.
func (g *group) row(since, until *time.Time) *schema.LeadReportRow {
	g.Since, g.Until = since, until
	g.Amounts = price.Sums(g.won)
	if n := len(g.answer); n > 0 {
		slices.Sort(g.answer)
		hours := (g.answer[(n-1)/2] + g.answer[n/2]).Hours() / 2
		g.MedianHoursToAnswer = new(math.Round(hours*100) / 100)
	}
	return &g.LeadReportRow
}
