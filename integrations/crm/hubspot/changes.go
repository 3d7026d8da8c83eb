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

	// historyBatch is the number of contacts whose histories HubSpot returns at once.
	historyBatch = 50
	// searchLag is how long a change may take until a search finds it.
	searchLag = 10 * time.Minute
	// searchPause keeps to four searches a second: HubSpot allows five.
	searchPause = 250 * time.Millisecond
)

// outcomeOf has the outcome that a value of a property stands for.
var outcomeOf = map[string]map[string]lead.OutcomeValue{
	propStage: {
		"salesqualifiedlead": lead.Qualified,
		"opportunity":        lead.Qualified,
		"customer":           lead.Won,
	},
	propStatus: {"UNQUALIFIED": lead.Lost},
}

// Outcomes implements [crm.Outcomes] with two requests for each fifty contacts: one search
// by the time of the last change, and one for the histories of stage and status, which say
// when they changed.
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

// lastChange returns the time of the last change on the page.
func (c *contacts) lastChange() time.Time {
	if len(c.Results) == 0 {
		return time.Time{}
	}
	last := c.Results[len(c.Results)-1].values()
	at, _ := time.Parse(time.RFC3339, last[propModified])
	return at
}

// next returns where the next page of a search from some time begins. It is found by the
// time, since a contact that changes meanwhile shifts the pages, unless the whole page was
// changed at one moment.
func (c *contacts) next(from time.Time) (time.Time, string) {
	if last := c.lastChange(); last.After(from) {
		return last, ""
	}
	return from, c.Paging.Next.After
}

// searchChanged returns a page of the contacts with an outcome that changed at a time or
// later, in the order of their last changes.
func (d *Driver) searchChanged(ctx context.Context, from time.Time, after string) (*contacts, error) {
	changed := condition{propModified, "GTE", strconv.FormatInt(from.UnixMilli(), 10), nil}
	search := map[string]any{
		"filterGroups": []any{ // any of them
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

	return d.ask(ctx, "looking for changed contacts", "/search", search)
}

// condition is a filter of a search.
type condition struct {
	Name     string   `json:"propertyName"`
	Operator string   `json:"operator"`
	Value    string   `json:"value,omitempty"`
	Values   []string `json:"values,omitempty"`
}

// outcomes returns the outcomes of the contacts of a page. Contacts that are deleted
// meanwhile are missing, and merged ones are answered by the contact that they became.
func (d *Driver) outcomes(ctx context.Context, found *contacts) (page crm.OutcomePage, err error) {
	page.Until = found.lastChange()
	if len(found.Results) == 0 {
		return page, nil
	}

	var ids []string
	for _, c := range found.Results {
		ids = append(ids, c.ID)
	}
	answer, err := d.ask(ctx, "reading the histories of contacts", "/batch/read", map[string]any{
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

// outcome returns what became of the contact. Its value is empty if the stage and the status
// have no meaning.
func (c *contact) outcome() crm.ContactOutcome {
	o := crm.ContactOutcome{Emails: c.addresses()}
	for name, past := range c.Past {
		current := sinceWhen(past)
		if value := outcomeOf[name][current.Value]; value != "" && current.Since.After(o.At) {
			o.Value, o.At = value, current.Since
		}
	}
	return o
}

// sinceWhen returns the current value of a property, and since when it has it: a value that
// is written once more did not change.
func sinceWhen(past []pastValue) (current pastValue) {
	slices.SortFunc(past, func(a, b pastValue) int { return b.Since.Compare(a.Since) })
	for i, p := range past {
		if i > 0 && p.Value != current.Value {
			break
		}
		current = p
	}
	return current
}
