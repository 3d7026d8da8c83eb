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
	propStage  = "lifecyclestage"
	propStatus = "hs_lead_status"
	propClosed = "hs_is_closed"
	propWon    = "hs_is_closed_won"

	// historyBatch is HubSpot's limit of records per request for histories.
	historyBatch = 50
	// searchLag is the maximum delay until a search finds a change.
	searchLag = 10 * time.Minute
	// searchPause limits searches to four a second; HubSpot allows five.
	searchPause = 250 * time.Millisecond
)

// outcomeOf maps properties of contacts and their values to outcomes.
var outcomeOf = map[string]map[string]lead.OutcomeValue{
	propStage: {
		"salesqualifiedlead": lead.Qualified,
		"opportunity":        lead.Qualified,
		"customer":           lead.Won,
	},
	propStatus: {"UNQUALIFIED": lead.Lost},
}

// watched is a type of record whose changes are outcomes.
type watched struct {
	path       string
	modified   string      // property with the time of the last change
	groups     []condition // a record meets any of them
	properties []string
	histories  []string // properties that are read with the times of their changes
	outcome    func(*record) crm.Outcome
}

// watched returns deals, or contacts if deals are off.
func (d *Driver) watched() watched {
	if d.DealStage == "" {
		return watched{
			path:     d.contacts,
			modified: "lastmodifieddate",
			groups: []condition{
				{propStage, "IN", "", []string{"salesqualifiedlead", "opportunity", "customer"}},
				{propStatus, "EQ", "UNQUALIFIED", nil},
			},
			properties: []string{crm.PropEmail, propSecondary},
			histories:  []string{propStage, propStatus},
			outcome:    (*record).contactOutcome,
		}
	}

	return watched{
		path:       d.deals,
		modified:   "hs_lastmodifieddate",
		groups:     []condition{{crm.PropLeadID, "HAS_PROPERTY", "", nil}},
		properties: []string{crm.PropLeadID, propClosed, propWon},
		histories:  []string{crm.PropDealStage, crm.PropDealAmount, crm.PropDealCurrency},
		outcome:    (*record).dealOutcome,
	}
}

// Outcomes implements [crm.Outcomes] with two requests for each fifty records: a search
// by the time of the last change, and a read of the histories, which contain the times of
// changes.
func (d *Driver) Outcomes(ctx context.Context, since time.Time) iter.Seq2[crm.OutcomePage, error] {
	w := d.watched()
	return func(yield func(crm.OutcomePage, error) bool) {
		from, after := since.Add(-searchLag), ""
		for {
			found, err := d.searchChanged(ctx, w, from, after)
			page := crm.OutcomePage{Until: w.lastChange(found)}
			if err == nil {
				page.Outcomes, err = d.outcomes(ctx, w, found)
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
func (w watched) lastChange(page *list[record]) time.Time {
	if len(page.Results) == 0 {
		return time.Time{}
	}
	last := page.Results[len(page.Results)-1].values()
	at, _ := time.Parse(time.RFC3339, last[w.modified])
	return at
}

// searchChanged returns a page of the records that changed at or after from, in the order
// of their last changes.
func (d *Driver) searchChanged(ctx context.Context, w watched, from time.Time, after string) (*list[record], error) {
	changed := condition{w.modified, "GTE", strconv.FormatInt(from.UnixMilli(), 10), nil}
	var groups []any
	for _, c := range w.groups {
		groups = append(groups, map[string]any{"filters": []condition{changed, c}})
	}

	search := map[string]any{
		"filterGroups": groups,
		"sorts":        []any{map[string]string{"propertyName": w.modified, "direction": "ASCENDING"}},
		"properties":   []string{w.modified},
		"limit":        historyBatch,
	}
	if after != "" {
		search["after"] = after
	}
	return d.readRecords(ctx, "searching for outcomes", w.path+"/search", search)
}

// condition is a filter of a search.
type condition struct {
	Name     string   `json:"propertyName"`
	Operator string   `json:"operator"`
	Value    string   `json:"value,omitempty"`
	Values   []string `json:"values,omitempty"`
}

// outcomes returns the outcomes of the records of a page. Records deleted since the
// search are missing; for a merged one HubSpot returns the record that it was merged into.
func (d *Driver) outcomes(ctx context.Context, w watched, page *list[record]) (found []crm.Outcome, err error) {
	if len(page.Results) == 0 {
		return nil, nil
	}

	var ids []string
	for _, r := range page.Results {
		ids = append(ids, r.ID)
	}
	response, err := d.readRecords(ctx, "reading the histories of outcomes", w.path+"/batch/read", map[string]any{
		"properties":            w.properties,
		"propertiesWithHistory": w.histories,
		"inputs":                inputs(ids),
	})
	for _, r := range response.Results {
		if o := w.outcome(&r); o.Value != "" {
			found = append(found, o)
		}
	}
	return found, err
}

// contactOutcome returns the outcome of a contact. Its value is empty if neither the stage
// nor the status stands for an outcome.
func (r *record) contactOutcome() crm.Outcome {
	o := crm.Outcome{Emails: r.addresses()}
	for name, past := range r.Past {
		current := currentValue(past)
		if value := outcomeOf[name][current.Value]; value != "" && current.Since.After(o.At) {
			o.Value, o.At = value, current.Since
		}
	}
	return o
}

// dealOutcome returns the outcome of a deal. Its value is empty in the first stage. A
// corrected amount of a won deal is a later outcome.
func (r *record) dealOutcome() crm.Outcome {
	values := r.values()
	o := crm.Outcome{LeadID: values[crm.PropLeadID]}
	o.At = currentValue(r.Past[crm.PropDealStage]).Since

	switch {
	case values[propWon] == "true":
		o.Value = lead.Won
		amount, currency := currentValue(r.Past[crm.PropDealAmount]), currentValue(r.Past[crm.PropDealCurrency])
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
