package hubspot

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
)

const (
	propClosed   = "hs_is_closed"
	propWon      = "hs_is_closed_won"
	propModified = "hs_lastmodifieddate"

	// historyBatch is HubSpot's limit of records per request for histories.
	historyBatch = 50
	// searchLag is the maximum delay until a search finds a change.
	searchLag = 10 * time.Minute
	// searchPause limits searches to four a second; HubSpot allows five.
	searchPause = 250 * time.Millisecond
)

// Outcomes implements [crm.Outcomes] for deals with two requests for each fifty: a search by
// the time of the last change, and a read of the histories, which contain the times of
// changes.
func (d *Driver) Outcomes(ctx context.Context, since time.Time) iter.Seq2[crm.OutcomePage, error] {
	return func(yield func(crm.OutcomePage, error) bool) {
		from, after := since.Add(-searchLag), ""
		for {
			found, err := d.searchChanged(ctx, from, after)
			page := crm.OutcomePage{Until: lastChange(found)}
			if err == nil {
				page.Outcomes, err = d.outcomes(ctx, found)
			}
			if !yield(page, err) || err != nil || found.Paging.Next.After == "" {
				return
			}

			// The next page begins at the time of the latest change, because records that
			// change between two pages shift the pages. If the whole page has the same
			// time, HubSpot's cursor continues it.
			after = found.Paging.Next.After
			if page.Until.After(from) {
				from, after = page.Until, ""
			}
			select {
			case <-ctx.Done():
			case <-time.After(searchPause):
			}
		}
	}
}

// lastChange returns the time of the latest change on the page.
func lastChange(page *list[record]) time.Time {
	if len(page.Results) == 0 {
		return time.Time{}
	}
	last := page.Results[len(page.Results)-1].values()
	at, _ := time.Parse(time.RFC3339, last[propModified])
	return at
}

// searchChanged returns a page of the deals of leads that changed at or after from, in the
// order of their last changes.
func (d *Driver) searchChanged(ctx context.Context, from time.Time, after string) (*list[record], error) {
	search := map[string]any{
		"filterGroups": []any{map[string]any{"filters": []condition{
			{propModified, "GTE", strconv.FormatInt(from.UnixMilli(), 10), nil},
			{crm.PropLeadID, "HAS_PROPERTY", "", nil},
		}}},
		"sorts":      []any{map[string]string{"propertyName": propModified, "direction": "ASCENDING"}},
		"properties": []string{propModified},
		"limit":      historyBatch,
	}
	if after != "" {
		search["after"] = after
	}
	return d.readRecords(ctx, "searching for outcomes", d.deals+"/search", search)
}

// condition is a filter of a search.
type condition struct {
	Name     string   `json:"propertyName"`
	Operator string   `json:"operator"`
	Value    string   `json:"value,omitempty"`
	Values   []string `json:"values,omitempty"`
}

// outcomes returns the outcomes of the deals of a page. Deals deleted since the search are
// missing; for a merged one HubSpot returns the deal that it was merged into.
func (d *Driver) outcomes(ctx context.Context, page *list[record]) (found []crm.Outcome, err error) {
	var ids []string
	for _, r := range page.Results {
		ids = append(ids, r.ID)
	}
	op := "reading the histories of outcomes"
	response, err := d.readBatch(ctx, op, d.deals, historyBatch, ids, map[string]any{
		"properties":            []string{crm.PropLeadID, propClosed, propWon},
		"propertiesWithHistory": []string{crm.PropDealStage, crm.PropDealAmount, crm.PropDealCurrency},
	})
	for _, r := range response {
		if o := r.dealOutcome(); o.LeadID != "" {
			found = append(found, o)
		}
	}
	return found, err
}

// dealOutcome returns the outcome of a deal. Its value is empty in the first stage, to which
// people may move it back. A corrected amount of a won deal is a later outcome.
func (r *record) dealOutcome() crm.Outcome {
	values := r.values()
	o := crm.Outcome{LeadID: values[crm.PropLeadID]}
	o.At = currentValue(r.Past[crm.PropDealStage]).Since

	switch {
	case values[propWon] == "true":
		o.Value = lead.Won
		amount := currentValue(r.Past[crm.PropDealAmount])
		currency := currentValue(r.Past[crm.PropDealCurrency])
		if n, err := strconv.ParseFloat(amount.Value, 64); err == nil && currency.Value != "" {
			o.Amount, o.Currency = &n, currency.Value
		}
		for _, since := range []time.Time{amount.Since, currency.Since} {
			if since.After(o.At) {
				o.At = since
			}
		}
	case values[propClosed] == "true":
		o.Value = lead.Lost
	case r.movedOn():
		o.Value = lead.Qualified
	}
	return o
}

// currentValue returns the current value of a property and the time when it was first
// set. Writing the same value again is not a change.
func currentValue(past []pastValue) (current pastValue) {
	slices.SortFunc(past, func(a, b pastValue) int { return b.Since.Compare(a.Since) })
	for i, p := range past {
		if i > 0 && p.Value != current.Value {
			break
		}
		current = p
	}
	return current
}
