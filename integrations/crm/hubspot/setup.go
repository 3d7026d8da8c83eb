package hubspot

import (
	"context"
	"fmt"
	"net/http"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// Group is the property group that the quote properties belong to.
const Group = "quote_calculator"

// definitions returns the quote properties as HubSpot wants them described. Slugs are texts
// and not choices, because the CMS may add new ones at any time and HubSpot refuses values
// outside the list of choices. An account that prefers choices can define them before the
// set-up.
func definitions() (all []map[string]string) {
	types := map[crm.Kind][2]string{
		crm.Text:     {"string", "text"},
		crm.LongText: {"string", "textarea"},
		crm.Number:   {"number", "number"},
		crm.Time:     {"datetime", "date"},
	}

	for _, p := range crm.Properties() {
		if p.Quote() {
			all = append(all, map[string]string{
				"name":        p.Name,
				"label":       p.Label,
				"description": p.Description,
				"type":        types[p.Kind][0],
				"fieldType":   types[p.Kind][1],
				"groupName":   Group,
			})
		}
	}
	return all
}

// Setup creates the property group and all quote properties. A property that exists is
// left as it is.
func (d *Driver) Setup(ctx context.Context) ([]string, error) {
	group := map[string]string{"name": Group, "label": "Quote calculator"}
	made, err := d.define(ctx, d.properties+"/groups", group)
	if err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("property group %s: %s", Group, made)}

	for _, def := range definitions() {
		made, err := d.define(ctx, d.properties, def)
		if err != nil {
			return lines, err
		}
		lines = append(lines, fmt.Sprintf("property %s: %s", def["name"], made))
	}
	return lines, nil
}

// define creates a definition. A definition that exists already is not an error.
func (d *Driver) define(ctx context.Context, path string, body any) (made string, err error) {
	const op = "setting the properties up"
	resp, err := d.client.Do(ctx, upstream.Request{Op: op, Method: http.MethodPost, Path: path, Body: body})
	switch {
	case err != nil:
		return "", err
	case resp.Status == http.StatusConflict:
		return "exists already", nil
	case resp.Status >= http.StatusMultipleChoices:
		return "", d.failure(op, resp)
	}
	return "created", nil
}

// createProperties creates what a new account lacks, and reports whether it could. A failure
// that a retry would not fix is no error, since storing a lead without a property is better
// than not storing it.
func (d *Driver) createProperties(ctx context.Context) (created bool, err error) {
	_, err = d.Setup(ctx)
	if kind := upstream.KindOf(err); err != nil && (kind == upstream.Refused || kind == upstream.Rejected) {
		return false, nil
	}
	return err == nil, err
}
