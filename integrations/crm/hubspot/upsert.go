package hubspot

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// errNoContact means that HubSpot has no such contact. It never leaves the package.
var errNoContact = errors.New("no such contact")

// existing finds the id in HubSpot's answer to a duplicate: "Contact already exists.
// Existing ID: 123".
var existing = regexp.MustCompile(`Existing ID: (\d+)`)

// contact is one as HubSpot returns it. A property without a value is null.
type contact struct {
	ID         string             `json:"id"`
	Properties map[string]*string `json:"properties"`
}

// held returns the properties that have a value.
func (c *contact) held() map[string]string {
	held := make(map[string]string, len(c.Properties))
	for name, value := range c.Properties {
		if value != nil {
			held[name] = *value
		}
	}
	return held
}

// Upsert stores the lead.
func (d *Driver) Upsert(ctx context.Context, l crm.Lead) error {
	const op = "storing the contact"
	email := crm.Address(l.Submission.Contact.Email)
	if !crm.Addressable(email) {
		return &upstream.Error{System: system, Op: op, Kind: upstream.Rejected, Detail: "the lead has no e-mail address"}
	}
	release, err := d.turns.take(ctx, email)
	if err != nil {
		return givenUp(op, err)
	}
	defer release()

	c, err := d.byEmail(ctx, op, email)
	if errors.Is(err, errNoContact) {
		var id string
		if id, err = d.create(ctx, op, crm.Changes(l, nil)); err != nil || id == "" {
			return err
		}
		c, err = d.byID(ctx, op, id)
	}
	if err == nil {
		err = d.update(ctx, op, c.ID, crm.Changes(l, c.held()))
	}
	if errors.Is(err, errNoContact) {
		// Deleted or merged since it was read: by the next try that has settled.
		return &upstream.Error{System: system, Op: op, Kind: upstream.Unavailable, Detail: "the contact vanished meanwhile"}
	}
	return err
}

// byEmail returns the contact that has an address as its primary or a secondary one.
func (d *Driver) byEmail(ctx context.Context, op, email string) (*contact, error) {
	return d.get(ctx, op, email, url.Values{"idProperty": {crm.PropEmail}})
}

// byID returns the contact with an id.
func (d *Driver) byID(ctx context.Context, op, id string) (*contact, error) {
	return d.get(ctx, op, id, url.Values{})
}

func (d *Driver) get(ctx context.Context, op, key string, query url.Values) (*contact, error) {
	// HubSpot leaves out of its answer what the account has no definition of.
	query.Set("properties", strings.Join(append(crm.ContactProperties(), crm.QuoteProperties()...), ","))
	resp, err := d.client.Do(ctx, upstream.Request{
		Op: op, Path: d.contacts + "/" + url.PathEscape(key), Query: query,
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

// create makes a contact. Where there is one already it returns that one's id.
func (d *Driver) create(ctx context.Context, op string, properties map[string]string) (existingID string, err error) {
	resp, err := d.write(ctx, op, http.MethodPost, d.contacts, properties)
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

// update writes to a contact; with nothing to write it does nothing.
func (d *Driver) update(ctx context.Context, op, id string, properties map[string]string) error {
	if len(properties) == 0 {
		return nil
	}
	resp, err := d.write(ctx, op, http.MethodPatch, d.contacts+"/"+url.PathEscape(id), properties)
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

// contact reads one out of an answer. Anything else, such as a proxy's page sent with
// status 200, must not pass for a stored lead.
func (d *Driver) contact(op string, resp *upstream.Response) (*contact, error) {
	var c contact
	if err := resp.Decode(&c); err != nil || c.ID == "" {
		return nil, d.unexpected(op, resp)
	}
	return &c, nil
}
