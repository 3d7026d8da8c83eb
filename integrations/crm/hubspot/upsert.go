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

// These outcomes of a call never leave the package.
var (
	errNoContact   = errors.New("no such contact")
	errNothingLeft = errors.New("no property is left to be written")
)

// existing finds the id in HubSpot's answer to a duplicate: "Contact already
// exists. Existing ID: 123".
var existing = regexp.MustCompile(`Existing ID: (\d+)`)

// contact is a contact as HubSpot returns it. A property without a value is null.
type contact struct {
	ID         string             `json:"id"`
	Properties map[string]*string `json:"properties"`
}

func (c *contact) values() map[string]string {
	values := make(map[string]string, len(c.Properties))
	for name, value := range c.Properties {
		if value != nil {
			values[name] = *value
		}
	}
	return values
}

// Upsert stores the lead.
func (d *Driver) Upsert(ctx context.Context, l crm.Contact) error {
	const op = "storing the contact"
	email := crm.Address(l.Lead.Contact.Email)
	if !crm.Addressable(email) {
		return &upstream.Error{
			System: system,
			Op:     op,
			Kind:   upstream.Rejected,
			Detail: "the lead has no e-mail address",
		}
	}

	defer d.lock(email)()

	c, err := d.byEmail(ctx, op, email)
	if errors.Is(err, errNoContact) {
		var id string
		if id, err = d.create(ctx, op, l); err != nil || id == "" {
			return err
		}
		c, err = d.get(ctx, op, id, url.Values{})
	}

	if err == nil {
		err = d.update(ctx, op, c, l)
	}

	if errors.Is(err, errNoContact) {
		// The contact was deleted or merged since it was read. The next
		// attempt handles that.
		return &upstream.Error{
			System: system,
			Op:     op,
			Kind:   upstream.Unavailable,
			Detail: "the contact vanished meanwhile",
		}
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

	resp, err := d.client.Do(ctx, upstream.Request{
		Op:    op,
		Path:  d.contacts + "/" + url.PathEscape(key),
		Query: query,
	})
	if err != nil {
		return nil, err
	}

	switch resp.Status {
	case http.StatusOK:
		return d.contact(op, resp)
	case http.StatusNotFound:
		return nil, errNoContact
	}
	return nil, d.failure(op, resp)
}

// create makes a contact. If the contact exists already, it returns its id.
func (d *Driver) create(ctx context.Context, op string, l crm.Contact) (existingID string, err error) {
	resp, err := d.write(ctx, op, http.MethodPost, d.contacts, l, nil)
	if err != nil {
		return "", err
	}

	switch resp.Status {
	case http.StatusOK, http.StatusCreated:
		_, err := d.contact(op, resp)
		return "", err
	case http.StatusConflict:
		if m := existing.FindSubmatch(resp.Body); m != nil {
			return string(m[1]), nil
		}
	}
	return "", d.failure(op, resp)
}

func (d *Driver) update(ctx context.Context, op string, c *contact, l crm.Contact) error {
	resp, err := d.write(ctx, op, http.MethodPatch, d.contacts+"/"+url.PathEscape(c.ID), l, c.values())
	if errors.Is(err, errNothingLeft) {
		return nil
	}
	if err != nil {
		return err
	}

	switch resp.Status {
	case http.StatusOK:
		_, err := d.contact(op, resp)
		return err
	case http.StatusNotFound:
		return errNoContact
	}
	return d.failure(op, resp)
}

// write sends the properties that the lead changes. Properties unknown to HubSpot are
// created if the token may; properties that HubSpot still refuses are left out and
// reported. The answer that write returns may be a failure for any other reason.
func (d *Driver) write(
	ctx context.Context, op, method, path string, l crm.Contact, current map[string]string,
) (*upstream.Response, error) {
	properties := crm.Changes(l, current)
	omitted := map[string]string{} // HubSpot's codes by property
	var existing map[string]bool   // the account's properties, once they were created

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

		if existing == nil && slices.Contains(slices.Collect(maps.Values(refused)), codeUnknown) {
			if existing, err = d.createProperties(ctx); err != nil {
				return nil, err
			}
			if len(existing) > 0 {
				continue
			}
		}

		for name, code := range refused {
			if code == codeUnknown && existing[name] &&
				time.Since(l.Lead.SubmittedAt) < newPropertyPatience {
				return nil, &upstream.Error{
					System: system,
					Op:     op,
					Kind:   upstream.Unavailable,
					Detail: "a new property is not known everywhere yet",
				}
			}

			delete(properties, name)
			omitted[name] = code
		}
	}

	d.reportOmitted(omitted)
	return nil, errNothingLeft
}

func (d *Driver) reportOmitted(omitted map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(omitted)) {
		reason := "the account refuses its value (" + omitted[name] + ")"
		if omitted[name] == codeUnknown {
			reason = "the account has no such property and the token may not create it"
		}
		d.onOmitted(fmt.Sprintf("a contact was stored without %s: %s", name, reason))
	}
}

// contact reads a contact from an answer. Any other content, such as a proxy's page sent
// with status 200, must not count as a stored lead.
func (d *Driver) contact(op string, resp *upstream.Response) (*contact, error) {
	var c contact
	if err := resp.Decode(&c); err != nil || strings.TrimSpace(c.ID) == "" {
		return nil, d.unexpected(op, resp)
	}
	return &c, nil
}
