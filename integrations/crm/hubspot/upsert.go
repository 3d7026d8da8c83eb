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
	"siteapi/integrations/upstream"
)

// maxPropertyWait bounds the age of a lead that waits until HubSpot recognizes a new
// property. An older lead is stored without the property.
const maxPropertyWait = 5 * time.Minute

// errNoContact means that a contact does not exist. It is never returned to callers.
var errNoContact = errors.New("no such contact")

// existing matches the id in HubSpot's response to a duplicate: "Contact already exists.
// Existing ID: 123".
var existing = regexp.MustCompile(`Existing ID: (\d+)`)

// problem returns an error that is not based on a response of HubSpot.
func problem(op string, kind upstream.Kind, detail string) error {
	return &upstream.Error{System: system, Op: op, Kind: kind, Detail: detail}
}

// Upsert stores the lead.
func (d *Driver) Upsert(ctx context.Context, l crm.Contact) error {
	const op = "storing the contact"
	email := crm.Address(l.Lead.Contact.Email)
	if !crm.Addressable(email) {
		return problem(op, upstream.Rejected, "the lead has no e-mail address")
	}

	defer d.lock(email)()

	c, err := d.byEmail(ctx, op, email)
	if errors.Is(err, errNoContact) {
		resp, failed := d.write(ctx, op, http.MethodPost, d.contacts, l, nil)
		if failed != nil {
			return failed
		}
		id := existing.FindSubmatch(resp.Body)
		if resp.Status != http.StatusConflict || id == nil {
			return d.read(op, resp, &contact{})
		}
		c, err = d.get(ctx, op, string(id[1]), url.Values{})
	}

	if err == nil {
		err = d.update(ctx, op, c, l)
	}
	if errors.Is(err, errNoContact) {
		// The contact was deleted or merged since it was read. The next attempt reads it
		// again.
		return problem(op, upstream.Unavailable, "the contact was deleted or merged during the update")
	}
	return err
}

// byEmail returns the contact with a primary or secondary address.
func (d *Driver) byEmail(ctx context.Context, op, email string) (*contact, error) {
	return d.get(ctx, op, email, url.Values{"idProperty": {crm.PropEmail}})
}

func (d *Driver) get(ctx context.Context, op, key string, query url.Values) (*contact, error) {
	// HubSpot's response leaves out properties that are not defined in the account.
	for _, p := range crm.Properties() {
		query.Add("properties", p.Name)
	}

	var c contact
	err := d.call(ctx, upstream.Request{Op: op, Path: d.contacts + "/" + url.PathEscape(key), Query: query}, &c)
	if e, ok := errors.AsType[*upstream.Error](err); ok && e.Status == http.StatusNotFound {
		return nil, errNoContact
	}
	return &c, err
}

func (d *Driver) update(ctx context.Context, op string, c *contact, l crm.Contact) error {
	resp, err := d.write(ctx, op, http.MethodPatch, d.contacts+"/"+url.PathEscape(c.ID), l, c.values())
	switch {
	case err != nil || resp == nil:
		return err
	case resp.Status == http.StatusNotFound:
		return errNoContact
	}
	return d.read(op, resp, &contact{})
}

// write sends the properties that the lead changes. Properties unknown to HubSpot are
// created if the token has permission; properties that HubSpot still refuses are omitted
// and reported. The response is nil if there is nothing to write, and may be a failure
// with another cause.
func (d *Driver) write(
	ctx context.Context, op, method, path string, l crm.Contact, current map[string]string,
) (*upstream.Response, error) {
	properties := crm.Changes(l, current)
	omitted := map[string]string{}     // HubSpot's codes by property
	attempted, created := false, false // creating the account's missing properties

	for len(properties) > 0 {
		resp, err := d.client.Do(ctx, upstream.Request{
			Op:     op,
			Method: method,
			Path:   path,
			Body:   map[string]any{"properties": properties},
		})
		if err != nil {
			return nil, err
		}

		refused := refusedProperties(resp, properties)
		if len(refused) == 0 {
			if resp.Status < 300 {
				d.reportOmitted(omitted)
			}
			return resp, nil
		}

		unknown := strings.Contains(plain(resp), codeUnknown)
		switch {
		case unknown && !attempted:
			attempted = true
			if created, err = d.createProperties(ctx); err != nil {
				return nil, err
			}
			if created {
				continue
			}
		case unknown && created && time.Since(l.Lead.SubmittedAt) < maxPropertyWait:
			return nil, problem(op, upstream.Unavailable, "HubSpot does not recognize a new property yet")
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
		d.onOmitted(fmt.Sprintf("the account refuses the property %s: %s", name, omitted[name]))
	}
}
