package hubspot

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// Group is the property group that the quote properties belong to.
const Group = "quote_calculator"

// definition is a property as HubSpot wants it described.
type definition struct {
	Name        string `json:"name"`
	Label       string `json:"label"`
	Description string `json:"description"`
	Type        string `json:"type"`
	FieldType   string `json:"fieldType"`
	GroupName   string `json:"groupName"`
}

// definitions returns the quote properties. Slugs are texts and not choices, because the
// CMS may add new ones at any time and HubSpot refuses values outside the list of
// choices. An account that prefers choices can define them before the set-up.
func definitions() []definition {
	types := map[crm.Kind][2]string{
		crm.Text:     {"string", "text"},
		crm.LongText: {"string", "textarea"},
		crm.Number:   {"number", "number"},
		crm.Time:     {"datetime", "date"},
	}

	var all []definition
	for _, p := range crm.Properties() {
		if p.Quote() {
			all = append(all, definition{
				p.Name, p.Label, p.Description, types[p.Kind][0], types[p.Kind][1], Group,
			})
		}
	}

	return all
}

// Setup creates the property group and all quote properties. A property that exists is
// left as it is, and its line says if it has another type.
func (d *Driver) Setup(ctx context.Context) ([]string, error) {
	const op = "setting the properties up"
	created, err := d.defineGroup(ctx, op)
	if err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("property group %s: %s", Group, outcome(created))}

	for _, def := range definitions() {
		created, err := d.define(ctx, op, d.properties, def)
		if err != nil {
			return lines, err
		}

		line := fmt.Sprintf("property %s: %s", def.Name, outcome(created))
		if !created {
			note, err := d.difference(ctx, op, def)
			if err != nil {
				return lines, err
			}
			line += note
		}

		lines = append(lines, line)
	}

	return lines, nil
}

func (d *Driver) defineGroup(ctx context.Context, op string) (created bool, err error) {
	return d.define(ctx, op, d.properties+"/groups",
		map[string]string{"name": Group, "label": "Quote calculator"})
}

func outcome(created bool) string {
	return map[bool]string{true: "created", false: "exists already"}[created]
}

// difference describes how an existing property differs from its definition. It is not a
// failure if the token may create properties but not read them.
func (d *Driver) difference(ctx context.Context, op string, want definition) (string, error) {
	resp, err := d.client.Do(ctx, upstream.Request{
		Op:   op,
		Path: d.properties + "/" + url.PathEscape(want.Name),
	})
	if err != nil {
		return "", err
	}

	var got definition
	if resp.Status == http.StatusOK {
		_ = resp.Decode(&got)
	}

	if got.Type == "" || got.Type == want.Type {
		return "", nil
	}
	return fmt.Sprintf(", as %s rather than %s: values it refuses are left out and reported",
		got.Type, want.Type), nil
}

// createProperties creates the quote properties and returns the names of the
// ones that exist afterwards. It returns none if the token may not create any,
// which is not an error.
func (d *Driver) createProperties(ctx context.Context) (map[string]bool, error) {
	const op = "creating properties"
	existing := map[string]bool{}
	if _, err := d.defineGroup(ctx, op); err != nil {
		return existing, unlessFinal(err)
	}

	for _, def := range definitions() {
		if _, err := d.define(ctx, op, d.properties, def); err != nil {
			if err := unlessFinal(err); err != nil {
				return existing, err
			}
			continue
		}
		existing[def.Name] = true
	}
	return existing, nil
}

// define creates a definition. A definition that exists already is not an error.
func (d *Driver) define(ctx context.Context, op, path string, body any) (created bool, err error) {
	resp, err := d.client.Do(ctx, upstream.Request{Op: op, Method: http.MethodPost, Path: path, Body: body})
	if err != nil {
		return false, err
	}

	switch resp.Status {
	case http.StatusOK, http.StatusCreated:
		return true, nil
	case http.StatusConflict:
		return false, nil
	}
	return false, d.failure(op, resp)
}

// unlessFinal drops an error that a retry would not fix, since storing a lead without a
// property is better than not storing it.
func unlessFinal(err error) error {
	if kind := upstream.KindOf(err); kind == upstream.Refused || kind == upstream.Rejected {
		return nil
	}
	return err
}
