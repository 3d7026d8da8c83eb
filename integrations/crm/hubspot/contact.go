package hubspot

import (
	"context"
	"strings"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// propSecondary contains the secondary addresses of a contact, separated by semicolons.
const propSecondary = "hs_additional_emails"

// contact is a contact as HubSpot returns it. A property without a value is null.
type contact struct {
	ID         string                 `json:"id"`
	Properties map[string]*string     `json:"properties"`
	Past       map[string][]pastValue `json:"propertiesWithHistory"` // only if requested
}

// pastValue is a current or former value of a property, and the time when it was set.
type pastValue struct {
	Value string    `json:"value"`
	Since time.Time `json:"timestamp"`
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

// addresses returns all addresses of the contact.
func (c *contact) addresses() (list []string) {
	values := c.values()
	for _, address := range append(strings.Split(values[propSecondary], ";"), values[crm.PropEmail]) {
		if crm.Addressable(address) {
			list = append(list, crm.Address(address))
		}
	}
	return list
}

func (c *contact) complete() bool { return strings.TrimSpace(c.ID) != "" }

// contacts is a response with several contacts.
type contacts struct {
	Results []contact `json:"results"`
	Errors  []struct {
		Category string `json:"category"`
	} `json:"errors"`
	Paging struct {
		Next struct {
			After string `json:"after"`
		} `json:"next"`
	} `json:"paging"`
}

// complete reports whether the response has all requested contacts that exist.
func (c *contacts) complete() bool {
	for _, e := range c.Errors {
		if e.Category != "OBJECT_NOT_FOUND" {
			return false
		}
	}
	return c.Results != nil
}

// content is the expected content of a response.
type content interface{ complete() bool }

// call makes a request and decodes its response.
func (d *Driver) call(ctx context.Context, req upstream.Request, answer content) error {
	resp, err := d.client.Do(ctx, req)
	if err != nil {
		return err
	}
	return d.read(req.Op, resp, answer)
}

// read decodes a response. It fails if the content is not HubSpot's, so that for example
// a proxy's page with status 200 does not count as a stored lead.
func (d *Driver) read(op string, resp *upstream.Response, answer content) error {
	switch {
	case resp.Status >= 300:
		return d.failure(op, resp)
	case resp.Decode(answer) != nil || !answer.complete():
		return d.unexpected(op, resp)
	}
	return nil
}

// unexpected returns the error of a successful response without the expected content.
func (d *Driver) unexpected(op string, resp *upstream.Response) error {
	return d.client.Failure(op, resp, upstream.Unavailable, "the response is not in HubSpot's format")
}
