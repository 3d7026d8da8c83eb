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

// newPropertyPatience bounds the age of a lead that waits for a new property to become
// known everywhere. An older lead is stored without the property.
const newPropertyPatience = 5 * time.Minute

// errNoContact never leaves the package.
var errNoContact = errors.New("no such contact")

// existing finds the id in HubSpot's answer to a duplicate: "Contact already
// exists. Existing ID: 123".
var existing = regexp.MustCompile(`Existing ID: (\d+)`)

// problem returns the error of a lead that HubSpot did not judge.
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
		// The contact was deleted or merged since it was read. The next
		// attempt handles that.
		return problem(op, upstream.Unavailable, "the contact vanished meanwhile")
	}
	return err
}

// byEmail returns the contact that has an address as its primary or a secondary one.
func (d *Driver) byEmail(ctx context.Context, op, email string) (*contact, error) {
	return d.get(ctx, op, email, url.Values{"idProperty": {crm.PropEmail}})
}

func (d *Driver) get(ctx context.Context, op, key string, query url.Values) (*contact, error) {
	// HubSpot's answer leaves out properties that the account has no definition of.
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
// created if the token may; properties that HubSpot still refuses are left out and
// reported. The answer is nil if nothing is left to be written, and may be a failure for any
// other reason.
func (d *Driver) write(
	ctx context.Context, op, method, path string, l crm.Contact, current map[string]string,
) (*upstream.Response, error) {
	properties := crm.Changes(l, current)
	omitted := map[string]string{} // HubSpot's codes by property
	asked, created := false, false // the account's properties

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
		case unknown && !asked:
			asked = true
			if created, err = d.createProperties(ctx); err != nil {
				return nil, err
			}
			if created {
				continue
			}
		case unknown && created && time.Since(l.Lead.SubmittedAt) < newPropertyPatience:
			return nil, problem(op, upstream.Unavailable, "a new property is not known everywhere yet")
		}

		for _, name := range refused {
			delete(properties, name)
			omitted[name] = codesOf(resp)
		}
	}

	d.reportOmitted(omitted)
	return nil, nil //nolint:nilnil // nothing is left to be written
}

func (d *Driver) reportOmitted(omitted map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(omitted)) {
		d.onOmitted(fmt.Sprintf("a contact was stored without %s, which the account refuses: %s", name, omitted[name]))
	}
}
