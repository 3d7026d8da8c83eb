package hubspot

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream"
)

const (
	propModified = "lastmodifieddate"
	propStage    = "lifecyclestage"
	propStatus   = "hs_lead_status"

	// historyBatch is the number of contacts whose histories HubSpot returns at once.
	historyBatch = 50
	// searchDepth is the number of results of a search that HubSpot returns page by page.
	searchDepth = 10_000
	// searchLag is how long a change may take until a search finds it.
	searchLag = 10 * time.Minute
	// searchPause keeps to four searches a second: HubSpot allows five.
	searchPause = 250 * time.Millisecond
)

// outcomeOf says which outcome a value of a property stands for.
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

// changedPage is a page of a search for changed contacts.
type changedPage struct {
	Results *[]contact `json:"results"`
	Paging  struct {
		Next struct {
			After string `json:"after"`
		} `json:"next"`
	} `json:"paging"`
}

// lastChange returns the time of the last change on the page.
func (p *changedPage) lastChange() time.Time {
	if len(*p.Results) == 0 {
		return time.Time{}
	}
	last := (*p.Results)[len(*p.Results)-1].values()
	at, _ := time.Parse(time.RFC3339, last[propModified])
	return at
}

// next returns where the next page of a search from some time begins. It is found by the
// time, since a contact that changes meanwhile shifts the pages, unless the whole page was
// changed at one moment.
func (p *changedPage) next(from time.Time) (time.Time, string) {
	after := p.Paging.Next.After
	if last := p.lastChange(); last.After(from) {
		return last, ""
	}
	if n, _ := strconv.Atoi(after); n >= searchDepth {
		return from.Add(time.Millisecond), ""
	}
	return from, after
}

// searchChanged returns a page of the contacts with an outcome that changed at a time or
// later, in the order of their last changes.
func (d *Driver) searchChanged(ctx context.Context, from time.Time, after string) (*changedPage, error) {
	const op = "looking for changed contacts"
	changed := filter{Name: propModified, Operator: "GTE", Value: strconv.FormatInt(from.UnixMilli(), 10)}
	search := map[string]any{
		"filterGroups": []any{ // any of them
			map[string]any{"filters": []filter{changed, {
				Name:     propStage,
				Operator: "IN",
				Values:   []string{"salesqualifiedlead", "opportunity", "customer"},
			}}},
			map[string]any{"filters": []filter{changed, {Name: propStatus, Operator: "EQ", Value: "UNQUALIFIED"}}},
		},
		"sorts":      []any{map[string]string{"propertyName": propModified, "direction": "ASCENDING"}},
		"properties": []string{propModified},
		"limit":      historyBatch,
	}
	if after != "" {
		search["after"] = after
	}

	var page changedPage
	err := d.ask(ctx, op, "/search", search, func(resp *upstream.Response) error {
		if err := resp.Decode(&page); err != nil || page.Results == nil {
			return d.unexpected(op, resp)
		}
		return nil
	})
	return &page, err
}

// filter is a condition of a search.
type filter struct {
	Name     string   `json:"propertyName"`
	Operator string   `json:"operator"`
	Value    string   `json:"value,omitempty"`
	Values   []string `json:"values,omitempty"`
}

// pastValue is a value that a property has or had, from a time on.
type pastValue struct {
	Value string    `json:"value"`
	Since time.Time `json:"timestamp"`
}

// outcomes returns the outcomes of the contacts of a page. Contacts that are deleted
// meanwhile are missing, and merged ones are answered by the contact that they became.
func (d *Driver) outcomes(ctx context.Context, found *changedPage) (page crm.OutcomePage, err error) {
	page.Until = found.lastChange()
	if len(*found.Results) == 0 {
		return page, nil
	}

	const op = "reading the histories of contacts"
	inputs := make([]map[string]string, len(*found.Results))
	for i, c := range *found.Results {
		inputs[i] = map[string]string{"id": c.ID}
	}
	body := map[string]any{
		"properties":            []string{crm.PropEmail, propSecondary},
		"propertiesWithHistory": []string{propStage, propStatus},
		"inputs":                inputs,
	}

	var answer struct {
		Results *[]history `json:"results"`
		missing
	}
	err = d.ask(ctx, op, "/batch/read", body, func(resp *upstream.Response) error {
		if err := resp.Decode(&answer); err != nil || answer.Results == nil {
			return d.unexpected(op, resp)
		}
		return answer.complete(d, op, resp)
	})
	if err != nil {
		return page, err
	}

	for _, h := range *answer.Results {
		if o := h.outcome(); o.Value != "" && len(o.Emails) > 0 {
			page.Contacts = append(page.Contacts, o)
		}
	}
	return page, nil
}

// history is a contact with the past of some properties.
type history struct {
	contact
	Past map[string][]pastValue `json:"propertiesWithHistory"`
}

// outcome returns what became of the contact. Its value is empty if the stage and the status
// say nothing.
func (h *history) outcome() (o crm.ContactOutcome) {
	values := h.values()
	for _, address := range append(strings.Split(values[propSecondary], ";"), values[crm.PropEmail]) {
		if crm.Addressable(address) {
			o.Emails = append(o.Emails, crm.Address(address))
		}
	}

	for name, past := range h.Past {
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

// ask sends a question about contacts that changes nothing, and waits for short rate
// limits. A part of the answer may be missing.
func (d *Driver) ask(
	ctx context.Context, op, path string, body any, read func(*upstream.Response) error,
) error {
	return waitingForLimits(ctx, func() error {
		resp, err := d.client.Do(ctx, upstream.Request{
			Op:     op,
			Method: http.MethodPost,
			Path:   d.contacts + path,
			Safe:   true,
			Body:   body,
		})
		if err != nil {
			return err
		}

		if resp.Status != http.StatusOK && resp.Status != http.StatusMultiStatus {
			return d.failure(op, resp)
		}
		return read(resp)
	})
}
