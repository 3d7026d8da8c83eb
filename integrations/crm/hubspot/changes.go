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
	propModified = "lastmodifieddate"
	propStage    = "lifecyclestage"
	propStatus   = "hs_lead_status"

	// historyBatch is HubSpot's limit of contacts per request for histories.
	historyBatch = 50
	// searchLag is the maximum delay until a search finds a change.
	searchLag = 10 * time.Minute
	// searchPause limits searches to four a second; HubSpot allows five.
	searchPause = 250 * time.Millisecond
)

// outcomeOf maps properties and their values to outcomes.
var outcomeOf = map[string]map[string]lead.OutcomeValue{
	propStage: {
		"salesqualifiedlead": lead.Qualified,
		"opportunity":        lead.Qualified,
		"customer":           lead.Won,
	},
	propStatus: {"UNQUALIFIED": lead.Lost},
}

// Outcomes implements [crm.Outcomes] with two requests for each fifty contacts: a search
// by the time of the last change, and a read of the histories of stage and status, which
// contain the times of their changes.
func (d *Driver) Outcomes(ctx context.Context, since time.Time) iter.Seq2[crm.OutcomePage, error] {
	return func(yield func(crm.OutcomePage, error) bool) {
		from, after := since.Add(-searchLag), ""
		for {
			found, err := d.searchChanged(ctx, from, after)
			var page crm.OutcomePage
			if err == nil {
				page, err = d.outcomes(ctx, found)
			}
			if !yield(page, err) || err != nil || found.Paging.Next.After == "" {
				return
			}

			from, after = found.next(from)
			select {
			case <-ctx.Done():
			case <-time.After(searchPause):
			}
		}
	}
}

// lastChange returns the time of the latest change on the page.
func (c *records) lastChange() time.Time {
	if len(c.Results) == 0 {
		return time.Time{}
	}
	last := c.Results[len(c.Results)-1].values()
	at, _ := time.Parse(time.RFC3339, last[propModified])
	return at
}

// next returns the parameters of the next page of a search from the given time. The next
// page begins at the time of the latest change, because contacts that change between two
// pages shift the pages. If the whole page has the same time, next uses HubSpot's cursor.
func (c *records) next(from time.Time) (time.Time, string) {
	if last := c.lastChange(); last.After(from) {
		return last, ""
	}
	return from, c.Paging.Next.After
}

// searchChanged returns a page of the contacts with an outcome that changed at or after
// from, in the order of their last changes.
func (d *Driver) searchChanged(ctx context.Context, from time.Time, after string) (*records, error) {
	changed := condition{propModified, "GTE", strconv.FormatInt(from.UnixMilli(), 10), nil}
	search := map[string]any{
		"filterGroups": []any{ // matches any group
			map[string]any{"filters": []condition{changed,
				{propStage, "IN", "", []string{"salesqualifiedlead", "opportunity", "customer"}}}},
			map[string]any{"filters": []condition{changed, {propStatus, "EQ", "UNQUALIFIED", nil}}},
		},
		"sorts":      []any{map[string]string{"propertyName": propModified, "direction": "ASCENDING"}},
		"properties": []string{propModified},
		"limit":      historyBatch,
	}
	if after != "" {
		search["after"] = after
	}

	return d.readRecords(ctx, "searching for changed contacts", d.contacts+"/search", search)
}

// condition is a filter of a search.
type condition struct {
	Name     string   `json:"propertyName"`
	Operator string   `json:"operator"`
	Value    string   `json:"value,omitempty"`
	Values   []string `json:"values,omitempty"`
}

// outcomes returns the outcomes of the contacts of a page. Contacts deleted since the
// search are missing; for a merged contact HubSpot returns the contact that it was merged
// into.
func (d *Driver) outcomes(ctx context.Context, found *records) (page crm.OutcomePage, err error) {
	page.Until = found.lastChange()
	if len(found.Results) == 0 {
		return page, nil
	}

	var ids []string
	for _, c := range found.Results {
		ids = append(ids, c.ID)
	}
	answer, err := d.readRecords(ctx, "reading contact histories", d.contacts+"/batch/read", map[string]any{
		"properties":            []string{crm.PropEmail, propSecondary},
		"propertiesWithHistory": []string{propStage, propStatus},
		"inputs":                inputs(ids),
	})
	for _, c := range answer.Results {
		if o := c.outcome(); o.Value != "" && len(o.Emails) > 0 {
			page.Contacts = append(page.Contacts, o)
		}
	}
	return page, err
}

// outcome returns the outcome of the contact. Its value is empty if neither the stage nor
// the status stands for an outcome.
func (c *record) outcome() crm.ContactOutcome {
	o := crm.ContactOutcome{Emails: c.addresses()}
	for name, past := range c.Past {
		current := currentValue(past)
		if value := outcomeOf[name][current.Value]; value != "" && current.Since.After(o.At) {
			o.Value, o.At = value, current.Since
		}
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
