package hubspot

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// upsertDeal stores the deal of a lead, which is recognized by a unique property, and
// associates it with the contact. HubSpot refuses a second deal of the lead, so if another
// attempt has created it meanwhile, that deal is updated.
func (d *Driver) upsertDeal(ctx context.Context, l crm.Contact, contactID string) error {
	const op = "storing the deal"
	update := upstream.Request{
		Op:     op,
		Method: http.MethodPatch,
		Path:   d.deals + "/" + url.PathEscape(l.Lead.ID),
		Query:  url.Values{"idProperty": {crm.PropLeadID}},
	}

	resp, err := d.write(ctx, dealRecord, update, l, crm.DealQuote(l))
	if err == nil && resp.Status == http.StatusNotFound {
		resp, err = d.createDeal(ctx, op, l)
		if err == nil && valueTaken(resp) {
			resp, err = d.write(ctx, dealRecord, update, l, crm.DealQuote(l))
			if err == nil && resp.Status == http.StatusNotFound {
				return problem(op, upstream.Unavailable,
					"HubSpot has a deal of this quote but does not find it: restore it if it is in the recycling bin")
			}
		}
	}

	var deal record
	if err == nil {
		err = d.read(op, resp, &deal)
	}
	if err != nil {
		return err
	}
	return d.associate(ctx, deal.ID, contactID)
}

// createDeal creates the lead's deal in the first stage.
func (d *Driver) createDeal(ctx context.Context, op string, l crm.Contact) (*upstream.Response, error) {
	first, err := d.firstStage(ctx)
	if err != nil {
		return nil, err
	}
	properties := crm.NewDeal(l)
	properties[propPipeline], properties[crm.PropDealStage] = first.pipelineID, first.stageID
	return d.write(ctx, dealRecord,
		upstream.Request{Op: op, Method: http.MethodPost, Path: d.deals}, l, properties)
}

// associate makes the contact one of the deal's contacts. Repeating it changes nothing.
func (d *Driver) associate(ctx context.Context, dealID, contactID string) error {
	const op = "associating the deal"
	resp, err := d.client.Do(ctx, upstream.Request{
		Op:     op,
		Method: http.MethodPut,
		Path:   d.associations(dealID) + "/default/contacts/" + url.PathEscape(contactID),
	})
	switch {
	case err != nil:
		return err
	case resp.Status == http.StatusNotFound:
		return problem(op, upstream.Unavailable, "the contact or the deal was deleted or merged meanwhile")
	}
	return d.read(op, resp, &object{})
}

// associations returns the path of a deal's associations. Instead of v3, v4 serves them.
func (d *Driver) associations(dealID string) string {
	api := Options{Version: strings.Replace(d.Version, "v3", "v4", 1)}
	return api.path("objects", dealRecord) + "/" + url.PathEscape(dealID) + "/associations"
}

// FindDeals returns the ids of the leads that have a deal. Because a search lags behind
// changes, the deals of given leads are read by the id.
func (d *Driver) FindDeals(ctx context.Context, leads, emails []string) (ids []string, err error) {
	if d.DealStage == "" {
		return nil, errors.ErrUnsupported
	}
	found, err := d.findDeals(ctx, leads, emails)
	for _, deal := range found {
		ids = append(ids, deal.values()[crm.PropLeadID])
	}
	return ids, err
}

// findDeals reads the deals that FindDeals describes, with the histories of their stages.
func (d *Driver) findDeals(ctx context.Context, leads, emails []string) (found []record, err error) {
	keys := slices.Clone(leads)
	for after := ""; len(emails) > 0; {
		search := map[string]any{
			"filterGroups": []any{map[string]any{
				"filters": []condition{{crm.PropDealEmail, "IN", "", emails}},
			}},
			"properties": []string{crm.PropLeadID},
			"limit":      batchSize,
		}
		if after != "" {
			search["after"] = after
		}
		named, err := d.readRecords(ctx, "looking up deals", d.deals+"/search", search)
		if err != nil {
			return nil, err
		}
		for _, deal := range named.Results {
			keys = append(keys, deal.values()[crm.PropLeadID])
		}
		if after = named.Paging.Next.After; after == "" {
			break
		}
	}

	slices.Sort(keys)
	for batch := range slices.Chunk(slices.Compact(keys), historyBatch) {
		deals, err := d.readRecords(ctx, "reading deals", d.deals+"/batch/read", map[string]any{
			"idProperty":            crm.PropLeadID,
			"properties":            append(slices.Collect(maps.Keys(crm.ErasedDeal(""))), crm.PropLeadID),
			"propertiesWithHistory": []string{crm.PropDealStage},
			"inputs":                inputs(batch),
		})
		if err != nil {
			return nil, err
		}
		found = append(found, deals.Results...)
	}
	return found, nil
}

// movedOn reports whether the deal has left its first stage.
func (r *record) movedOn() bool {
	past := r.Past[crm.PropDealStage]
	current := currentValue(past) // sorts them, the latest first
	return len(past) == 0 || current.Value != past[len(past)-1].Value
}

// EraseDeals removes a person from deals. HubSpot cannot delete deals permanently: those
// that are deleted go to the recycling bin without the person's data.
func (d *Driver) EraseDeals(ctx context.Context, leads, emails []string) (kept []string, err error) {
	if d.DealStage == "" {
		return nil, nil
	}
	found, err := d.findDeals(ctx, leads, emails)
	if err != nil {
		return nil, err
	}

	var contacts []string
	for _, email := range emails {
		c, err := d.lookUp(ctx, email)
		if err == nil {
			contacts = append(contacts, c.ID)
		} else if !errors.Is(err, errNotFound) {
			return nil, err
		}
	}

	for _, deal := range found {
		if err := d.eraseDeal(ctx, deal, contacts); err != nil {
			return kept, err
		}
		if deal.movedOn() {
			kept = append(kept, deal.values()[crm.PropLeadID])
		}
	}
	return kept, nil
}

// eraseDeal removes a person from a deal, and deletes the deal unless people have moved
// it on. A property or association that does not exist is not an error.
func (d *Driver) eraseDeal(ctx context.Context, deal record, contacts []string) error {
	const op = "erasing the deal"
	current, changes := deal.values(), map[string]string{}
	for name, value := range crm.ErasedDeal(current[crm.PropLeadID]) {
		if value != "" || current[name] != "" {
			changes[name] = value
		}
	}

	own := d.deals + "/" + url.PathEscape(deal.ID)
	steps := []upstream.Request{{
		Method: http.MethodPatch,
		Path:   own,
		Body:   map[string]any{"properties": changes},
	}}
	for _, id := range contacts {
		steps = append(steps, upstream.Request{
			Method: http.MethodDelete,
			Path:   d.associations(deal.ID) + "/contacts/" + url.PathEscape(id),
		})
	}
	if !deal.movedOn() {
		steps = append(steps, upstream.Request{Method: http.MethodDelete, Path: own})
	}

	for _, step := range steps {
		step.Op = op
		err := waitingForLimits(ctx, func() error {
			resp, err := d.client.Do(ctx, step)
			if err == nil && resp.Status >= 300 && resp.Status != http.StatusNotFound {
				err = d.failure(op, resp)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
