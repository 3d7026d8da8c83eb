package hubspot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream"
)

// maxPropertyWait bounds the age of a lead that waits until HubSpot recognizes a new
// property. An older lead is stored without the property.
const maxPropertyWait = 5 * time.Minute

// errNotFound means that a contact or deal does not exist. It is never returned to
// callers.
var errNotFound = errors.New("not found")

// existing matches the id in HubSpot's response to a duplicate: "Contact already exists.
// Existing ID: 123".
var existing = regexp.MustCompile(`Existing ID: (\d+)`)

// problem returns an error that is not based on a response of HubSpot.
func problem(op string, kind upstream.Kind, detail string) error {
	return &upstream.Error{System: system, Op: op, Kind: kind, Detail: detail}
}

// Upsert stores the contact of the lead, and then its deal. Each step finds what an
// interrupted attempt has already done.
func (d *Driver) Upsert(ctx context.Context, l crm.Contact) (made lead.Records, err error) {
	const op = "storing the contact"
	email := crm.Address(l.Lead.Contact.Email)
	if !crm.Addressable(email) || l.Lead.ID == "" {
		return made, problem(op, upstream.Rejected, "the lead has no e-mail address")
	}

	defer d.lock(email)()

	c, err := d.upsertContact(ctx, op, email, l)
	if errors.Is(err, errNotFound) {
		// The contact was deleted or merged since it was read. The next attempt reads it
		// again.
		return made, problem(op, upstream.Unavailable, "the contact was deleted or merged during the update")
	}
	if err != nil {
		return made, err
	}

	made.Contact.ID = c.ID
	if d.DealStage != "" {
		made.Deal.ID, err = d.upsertDeal(ctx, l, c.ID)
	}
	if err == nil {
		made.Contact.URL = d.pageOf(ctx, "0-1", made.Contact.ID)
		made.Deal.URL = d.pageOf(ctx, "0-3", made.Deal.ID)
	}
	return made, err
}

func (d *Driver) upsertContact(ctx context.Context, op, email string, l crm.Contact) (*record, error) {
	c, err := d.byEmail(ctx, op, email)
	if errors.Is(err, errNotFound) {
		resp, failed := d.write(ctx, contactRecord,
			upstream.Request{Op: op, Method: http.MethodPost, Path: d.contacts}, l, crm.Changes(l, nil))
		if failed != nil {
			return nil, failed
		}
		id := existing.FindSubmatch(resp.Body)
		if resp.Status != http.StatusConflict || id == nil {
			c = &record{}
			return c, d.read(op, resp, c)
		}
		c, err = d.get(ctx, op, string(id[1]), url.Values{})
	}
	if err != nil {
		return nil, err
	}

	resp, err := d.write(ctx, contactRecord, upstream.Request{
		Op:     op,
		Method: http.MethodPatch,
		Path:   d.contacts + "/" + url.PathEscape(c.ID),
	}, l, crm.Changes(l, c.values()))
	switch {
	case err != nil || resp == nil:
		return c, err
	case resp.Status == http.StatusNotFound:
		return nil, errNotFound
	}
	return c, d.read(op, resp, &record{})
}

// byEmail returns the contact with a primary or secondary address.
func (d *Driver) byEmail(ctx context.Context, op, email string) (*record, error) {
	return d.get(ctx, op, email, url.Values{"idProperty": {crm.PropEmail}})
}

func (d *Driver) get(ctx context.Context, op, key string, query url.Values) (*record, error) {
	if key == "" {
		return nil, errNotFound
	}
	// HubSpot's response leaves out properties that are not defined in the account.
	for _, p := range crm.Properties() {
		query.Add("properties", p.Name)
	}

	var c record
	path := d.contacts + "/" + url.PathEscape(key)
	err := d.call(ctx, upstream.Request{Op: op, Path: path, Query: query}, &c)
	if e, ok := errors.AsType[*upstream.Error](err); ok && e.Status == http.StatusNotFound {
		return nil, errNotFound
	}
	return &c, err
}

// write sends properties of the lead's record, its contact or deal. Properties unknown to HubSpot are
// created if the token has permission; properties that HubSpot still refuses are omitted
// and reported. The response is nil if there is nothing to write, and may be a failure
// with another cause.
func (d *Driver) write(
	ctx context.Context, record string, req upstream.Request, l crm.Contact, properties map[string]string,
) (*upstream.Response, error) {
	omitted := map[string]string{}     // HubSpot's codes by property
	attempted, created := false, false // creating the account's missing properties

	for len(properties) > 0 {
		req.Body = map[string]any{"properties": properties}
		resp, err := d.client.Do(ctx, req)
		if err != nil {
			return nil, err
		}

		refused := refusedProperties(record, resp, properties)
		unknown := resp.Status >= 300 && strings.Contains(plain(resp), codeUnknown)
		switch {
		case unknown && !attempted:
			attempted = true
			_, err := d.define(ctx, record)
			if created = err == nil; created {
				continue
			}
			// A lead stored without a property is better than none.
			if kind := upstream.KindOf(err); kind != upstream.Refused && kind != upstream.Rejected {
				return nil, err
			}
		case unknown && created && (len(refused) == 0 || time.Since(l.Lead.SubmittedAt) < maxPropertyWait):
			return nil, problem(req.Op, upstream.Unavailable, "HubSpot does not recognize a new property yet")
		}

		if len(refused) == 0 {
			if resp.Status < 300 {
				d.reportOmitted(omitted)
			}
			return resp, nil
		}
		for _, name := range refused {
			delete(properties, name)
			omitted[name] = codesOf(resp)
		}
	}

	d.reportOmitted(omitted)
	return nil, nil //nolint:nilnil // there is nothing to write
}

func (d *Driver) reportOmitted(omitted map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(omitted)) {
		d.OnOmitted(fmt.Sprintf("the account refuses the property %s: %s", name, omitted[name]))
	}
}
