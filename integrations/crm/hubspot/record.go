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

// record is a contact or a deal as HubSpot returns it. A property without a value is null.
type record struct {
	ID         string                 `json:"id"`
	Properties map[string]*string     `json:"properties"`
	Past       map[string][]pastValue `json:"propertiesWithHistory"` // only if requested
}

// pastValue is a current or former value of a property, and the time when it was set.
type pastValue struct {
	Value string    `json:"value"`
	Since time.Time `json:"timestamp"`
}

func (r *record) values() map[string]string {
	values := make(map[string]string, len(r.Properties))
	for name, value := range r.Properties {
		if value != nil {
			values[name] = *value
		}
	}
	return values
}

// addresses returns all addresses of the contact.
func (r *record) addresses() (list []string) {
	values := r.values()
	for _, address := range append(strings.Split(values[propSecondary], ";"), values[crm.PropEmail]) {
		if crm.Addressable(address) {
			list = append(list, crm.Address(address))
		}
	}
	return list
}

func (r *record) complete() bool { return strings.TrimSpace(r.ID) != "" }

// list is a response with several records, definitions of properties, or pipelines.
type list[T any] struct {
	Results []T
	Errors  []struct{ Category string }
	Paging  struct{ Next struct{ After string } }
}

// complete reports whether the response has everything requested that exists.
func (l *list[T]) complete() bool {
	for _, e := range l.Errors {
		if e.Category != "OBJECT_NOT_FOUND" {
			return false
		}
	}
	return l.Results != nil
}

// object is any response that is a JSON object.
type object map[string]any

func (*object) complete() bool { return true }

// content is the expected content of a response.
type content interface{ complete() bool }

// call makes a request and decodes its response.
func (d *Driver) call(ctx context.Context, req upstream.Request, into content) error {
	resp, err := d.client.Do(ctx, req)
	if err != nil {
		return err
	}
	return d.read(req.Op, resp, into)
}

// read decodes a response. It fails if the content is not HubSpot's, so that for example
// a proxy's page with status 200 does not count as a stored lead.
func (d *Driver) read(op string, resp *upstream.Response, into content) error {
	switch {
	case resp.Status >= 300:
		return d.failure(op, resp)
	case resp.Decode(into) != nil || !into.complete():
		return d.unexpected(op, resp)
	}
	return nil
}

// unexpected returns the error of a successful response without the expected content.
func (d *Driver) unexpected(op string, resp *upstream.Response) error {
	return d.client.Failure(op, resp, upstream.Unavailable, "the response is not in HubSpot's format")
}
