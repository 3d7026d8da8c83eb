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
func (d *Driver) upsertDeal(ctx context.Context, l crm.Contact, contactID string) (id string, err error) {
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
				return "", problem(op, upstream.Unavailable,
					"HubSpot has a deal of this quote but does not find it: restore it if it is in "+
						"the recycling bin")
			}
		}
	}

	var deal record
	if err == nil {
		err = d.read(op, resp, &deal)
	}
	if err != nil {
		return "", err
	}
	return deal.ID, d.associate(ctx, deal.ID, contactID)
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

// FindDeals returns those of the given leads that have a deal. Because a search lags behind
// changes, the deals are read by the id.
func (d *Driver) FindDeals(ctx context.Context, leads []string) (ids []string, err error) {
	if d.DealStage == "" {
		return nil, errors.ErrUnsupported
	}
	found, err := d.readDeals(ctx, crm.PropLeadID, leads)
	for _, deal := range found {
		ids = append(ids, deal.values()[crm.PropLeadID])
	}
	return ids, err
}

// readDeals reads deals by their ids, or by a unique property, with the histories of their
// stages.
func (d *Driver) readDeals(ctx context.Context, property string, keys []string) ([]record, error) {
	body := map[string]any{
		"properties":            append(slices.Collect(maps.Keys(crm.ErasedDeal("any"))), crm.PropLeadID),
		"propertiesWithHistory": []string{crm.PropDealStage},
	}
	if property != "" {
		body["idProperty"] = property
	}
	return d.readBatch(ctx, "reading deals", d.deals, historyBatch, keys, body)
}

// movedOn reports whether the deal has left its first stage.
func (r *record) movedOn() bool {
	past := r.Past[crm.PropDealStage]
	current := currentValue(past) // sorts them, the latest first
	return len(past) == 0 || current.Value != past[len(past)-1].Value
}
