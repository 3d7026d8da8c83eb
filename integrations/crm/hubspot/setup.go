package hubspot

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// Group is the property group of the quote properties.
const Group = "quote_calculator"

// definitions returns HubSpot's definitions of the quote properties. Slugs are defined as
// text rather than as choices, because the CMS may add new slugs at any time and HubSpot
// refuses values outside the list of choices. An account can define its own choices
// before the setup.
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

// Setup creates the property group and all quote properties. Existing properties stay
// unchanged.
func (d *Driver) Setup(ctx context.Context) ([]string, error) {
	group := map[string]string{"name": Group, "label": "Quote calculator"}
	properties := path("properties", d.version, "contacts")
	result, err := d.define(ctx, properties+"/groups", group)
	if err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("property group %s: %s", Group, result)}

	for _, def := range definitions() {
		result, err := d.define(ctx, properties, def)
		if err != nil {
			return lines, err
		}
		lines = append(lines, fmt.Sprintf("property %s: %s", def["name"], result))
	}
	return lines, nil
}

// define creates a definition. An existing definition is not an error.
func (d *Driver) define(ctx context.Context, path string, body any) (result string, err error) {
	const op = "setting up properties"
	resp, err := d.client.Do(ctx, upstream.Request{Op: op, Method: http.MethodPost, Path: path, Body: body})
	switch {
	case err != nil:
		return "", err
	case resp.Status == http.StatusConflict:
		return "already exists", nil
	case resp.Status >= http.StatusMultipleChoices:
		return "", d.failure(op, resp)
	}
	return "created", nil
}

// Unprepared returns the names of the quote properties that the account lacks.
func (d *Driver) Unprepared(ctx context.Context) (missing []string, err error) {
	var names []map[string]string
	for _, def := range definitions() {
		missing = append(missing, def["name"])
		names = append(names, map[string]string{"name": def["name"]})
	}

	var known properties
	err = d.call(ctx, upstream.Request{
		Op:     "reading the properties of contacts",
		Method: http.MethodPost,
		Path:   path("properties", d.version, "contacts") + "/batch/read",
		Safe:   true,
		Body:   map[string]any{"archived": false, "inputs": names},
	}, &known)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(missing, func(name string) bool {
		return slices.ContainsFunc(known.Results, func(p property) bool { return p.Name == name })
	}), nil
}

// properties is a response with definitions of properties.
type properties struct {
	Results []property `json:"results"`
}

type property struct {
	Name string `json:"name"`
}

func (p *properties) complete() bool { return p.Results != nil }

// createProperties creates the missing properties and reports whether it succeeded. A
// permanent failure is not an error, because a lead stored without a property is better
// than none.
func (d *Driver) createProperties(ctx context.Context) (created bool, err error) {
	_, err = d.Setup(ctx)
	if kind := upstream.KindOf(err); err != nil && (kind == upstream.Refused || kind == upstream.Rejected) {
		return false, nil
	}
	return err == nil, err
}
