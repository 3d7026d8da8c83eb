package hubspot

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// EraseDeals removes a person from deals. HubSpot cannot delete deals permanently: those
// that are deleted go to the recycling bin without the person's data. While deals are off,
// it erases those of leads whose deliveries made a deal before.
func (d *Driver) EraseDeals(ctx context.Context, e crm.Erasure) (all []crm.Erased, err error) {
	if d.DealStage == "" && !e.HasDeals() {
		return nil, errors.ErrUnsupported
	}
	deals, err := d.dealsOf(ctx, e)
	if err != nil {
		return nil, err
	}

	var contacts []record
	if len(deals) > 0 {
		if contacts, err = d.contactsOf(ctx, e); err != nil {
			return nil, err
		}
	}
	for _, deal := range deals {
		id := deal.ownLead(e)
		isOther, err := e.IsOther(ctx, id)
		if err != nil {
			return all, err
		}
		erased := crm.Erased{ID: deal.ID, LeadID: id}
		if !isOther {
			erased.Fate = e.Deal(id, deal.movedOn())
		}
		if !e.DryRun && !isOther {
			if err := d.eraseDeal(ctx, deal, erased, contacts); err != nil {
				return all, err
			}
		}
		all = append(all, erased)
	}
	return all, nil
}

// dealsOf returns the deals of the erased leads, those with an address of the person, and
// copies that people made. What a search finds is read by its own id, since a copy has none
// of ours.
func (d *Driver) dealsOf(ctx context.Context, e crm.Erasure) (found []record, err error) {
	own, err := d.readDeals(ctx, crm.PropLeadID, slices.Collect(maps.Keys(e.Leads)))
	if err != nil {
		return nil, err
	}

	var ids []string
	for _, known := range e.Leads {
		ids = append(ids, known.Deal.ID)
	}
	for after := ""; len(e.Emails) > 0; {
		search := map[string]any{
			"filterGroups": []any{map[string]any{
				"filters": []condition{{crm.PropDealEmail, "IN", "", e.Emails}},
			}},
			"limit": batchSize,
		}
		if after != "" {
			search["after"] = after
		}
		page, err := d.readRecords(ctx, "looking up deals", d.deals+"/search", search)
		if err != nil {
			return nil, err
		}
		for _, deal := range page.Results {
			ids = append(ids, deal.ID)
		}
		if after = page.Paging.Next.After; after == "" {
			break
		}
	}

	// A deal may have been merged into another person's, or changed since.
	others, err := d.readDeals(ctx, "", ids)
	for _, deal := range append(own, others...) {
		known := slices.ContainsFunc(found, func(r record) bool { return r.ID == deal.ID })
		_, erased := e.Leads[deal.ownLead(e)]
		if !known && (erased || slices.Contains(e.Emails, crm.Address(deal.values()[crm.PropDealEmail]))) {
			found = append(found, deal)
		}
	}
	return found, err
}

// ownLead returns the lead of a deal: the one that it names, or whose delivery made it. If it
// shows nothing of a lead, it may be the deal of somebody else in another account.
func (r *record) ownLead(e crm.Erasure) string {
	values := r.values()
	if id := values[crm.PropLeadID]; id != "" {
		return id
	}
	for name := range crm.ErasedDeal("") {
		if values[name] != "" {
			return e.LeadOf(r.ID)
		}
	}
	return ""
}

// eraseDeal removes the person from a deal, and its contacts from the deal of a lead. It then
// deletes the deal if that is its fate.
func (d *Driver) eraseDeal(ctx context.Context, deal record, erased crm.Erased, contacts []record) error {
	current, changes := deal.values(), map[string]string{}
	for name, value := range crm.ErasedDeal(erased.LeadID) {
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
	for _, c := range contacts {
		if erased.LeadID != "" {
			steps = append(steps, upstream.Request{
				Method: http.MethodDelete,
				Path:   d.associations(deal.ID) + "/contacts/" + url.PathEscape(c.ID),
			})
		}
	}
	if erased.Fate == crm.Deleted {
		steps = append(steps, upstream.Request{Method: http.MethodDelete, Path: own})
	}

	for _, step := range steps {
		step.Op = "erasing the deal"
		if err := d.do(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// do makes a request that changes a record, and waits for short rate limits. A record that
// does not exist any more is not an error.
func (d *Driver) do(ctx context.Context, req upstream.Request) error {
	return waitingForLimits(ctx, func() error {
		resp, err := d.client.Do(ctx, req)
		if err == nil && resp.Status >= 300 && resp.Status != http.StatusNotFound {
			err = d.failure(req.Op, resp)
		}
		return err
	})
}

// EraseContacts removes a person from contacts.
func (d *Driver) EraseContacts(ctx context.Context, e crm.Erasure) (all []crm.Erased, err error) {
	contacts, err := d.contactsOf(ctx, e)
	if err != nil {
		return nil, err
	}

	for _, c := range contacts {
		stored := crm.StoredContact{Properties: c.values(), Emails: c.addresses()}
		for _, past := range c.Past[crm.PropLeadID] {
			stored.Writers = append(stored.Writers, past.Value)
		}

		fate, changes := e.Contact(stored)
		switch {
		case fate == crm.Foreign:
			continue
		case e.DryRun, fate == crm.Left:
		case fate == crm.Deleted:
			err = waitingForLimits(ctx, func() error { return d.deleteContact(ctx, c.ID) })
		default:
			err = d.do(ctx, upstream.Request{
				Op:     "removing the quote from the contact",
				Method: http.MethodPatch,
				Path:   d.contacts + "/" + url.PathEscape(c.ID),
				Body:   map[string]any{"properties": changes},
			})
		}
		if err != nil {
			return all, err
		}
		all = append(all, crm.Erased{ID: c.ID, Fate: fate, Emails: stored.Emails})
	}
	return all, nil
}

// contactsOf returns the contacts with an address of the erasure, and those that its leads'
// deliveries made or found, each once. A merged one is returned as the one that it was merged
// into.
func (d *Driver) contactsOf(ctx context.Context, e crm.Erasure) (found []record, err error) {
	look := func(key, property string) error {
		query := url.Values{
			"properties":            {crm.PropMerged, propSecondary},
			"propertiesWithHistory": {crm.PropLeadID},
		}
		if property != "" {
			query.Set("idProperty", property)
		}

		var c *record
		err := waitingForLimits(ctx, func() (err error) {
			c, err = d.get(ctx, opLookUp, key, query)
			return err
		})
		switch {
		case errors.Is(err, errNotFound):
			return nil
		case err == nil && !slices.ContainsFunc(found, func(r record) bool { return r.ID == c.ID }):
			found = append(found, *c)
		}
		return err
	}

	for _, email := range slices.Concat(e.Emails, e.Typed) {
		if crm.Addressable(email) {
			err = errors.Join(err, look(crm.Address(email), crm.PropEmail))
		}
	}
	for _, known := range e.Leads {
		err = errors.Join(err, look(known.Contact.ID, ""))
	}
	return found, err
}

// deleteContact permanently deletes a contact with HubSpot's endpoint for the right to
// erasure: archived contacts could be restored for 90 days. It identifies the contact by its
// id, because the endpoint permanently blocks unknown addresses.
func (d *Driver) deleteContact(ctx context.Context, id string) error {
	const op = "erasing the contact"
	resp, err := d.client.Do(ctx, upstream.Request{
		Op:     op,
		Method: http.MethodPost,
		Path:   d.contacts + "/gdpr-delete",
		Body:   map[string]string{"objectId": id},
	})

	switch {
	case err != nil:
		return err
	case resp.Status == http.StatusNoContent:
		return nil
	case resp.Status == http.StatusOK:
		return d.unexpected(op, resp) // the status of a deletion is 204
	}
	return d.failure(op, resp)
}
