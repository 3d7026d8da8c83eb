package hubspot

import (
	"context"
	"net/http"
	"slices"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// Group is the property group of the quote properties.
const Group = "quote_calculator"

// property is HubSpot's definition of a property.
type property struct {
	Name           string `json:"name"`
	Label          string `json:"label"`
	Description    string `json:"description"`
	Type           string `json:"type"`
	FieldType      string `json:"fieldType"`
	GroupName      string `json:"groupName"`
	HasUniqueValue bool   `json:"hasUniqueValue,omitempty"`
}

// isDefinedBy reports whether a property of the account is the same, and unique if it has
// to be.
func (p property) isDefinedBy(known property) bool {
	return known.Name == p.Name && known.HasUniqueValue == p.HasUniqueValue
}

// definitions returns HubSpot's definitions of the quote properties of a type of record.
// Slugs are defined as text rather than as choices, because the CMS may add new slugs at
// any time and HubSpot refuses values outside the list of choices. An account can define
// its own choices before the setup.
func definitions(record string) (all []property) {
	types := map[crm.Kind][2]string{
		crm.Text:     {"string", "text"},
		crm.LongText: {"string", "textarea"},
		crm.Number:   {"number", "number"},
		crm.Time:     {"datetime", "date"},
	}

	filled := crm.Properties()
	if record == dealRecord {
		filled = crm.DealProperties()
	}
	for _, p := range filled {
		if p.Quote() {
			all = append(all, property{
				Name:           p.Name,
				Label:          p.Label,
				Description:    p.Description,
				Type:           types[p.Kind][0],
				FieldType:      types[p.Kind][1],
				GroupName:      Group,
				HasUniqueValue: record == dealRecord && p.Name == crm.PropLeadID,
			})
		}
	}
	return all
}

// records returns the types of records that are in use.
func (d *Driver) records() []string {
	if d.DealStage == "" {
		return []string{contactRecord}
	}
	return []string{contactRecord, dealRecord}
}

// Setup creates the property groups and all quote properties, and lists the stages that
// new deals may have. Existing properties stay unchanged.
func (d *Driver) Setup(ctx context.Context) (lines []string, err error) {
	for _, record := range d.records() {
		done, err := d.define(ctx, record)
		lines = append(lines, done...)
		if err != nil {
			return lines, err
		}
	}

	stages, err := d.stages(ctx)
	if err != nil && d.DealStage == "" {
		return append(lines, "deals are off, and their stages cannot be listed: "+err.Error()), nil
	}
	for _, s := range stages {
		if !s.archived {
			lines = append(lines, "stage of deals: "+s.labels+" ("+s.ids()+")")
		}
	}
	return lines, err
}

// define creates the group and the quote properties of a type of record.
func (d *Driver) define(ctx context.Context, record string) (lines []string, err error) {
	const op = "setting up properties"
	create := func(name, api string, body any) error {
		resp, err := d.client.Do(ctx, upstream.Request{
			Op:     op,
			Method: http.MethodPost,
			Path:   d.path("properties", record) + api,
			Body:   body,
		})
		switch {
		case err != nil:
			return err
		case resp.Status == http.StatusConflict:
			lines = append(lines, name+": already exists")
		case resp.Status >= http.StatusMultipleChoices:
			return d.failure(op, resp)
		default:
			lines = append(lines, name+": created")
		}
		return nil
	}

	group := map[string]string{"name": Group, "label": "Quote calculator"}
	if err := create("property group "+record+"."+Group, "/groups", group); err != nil {
		return nil, err
	}
	for _, p := range definitions(record) {
		if err := create("property "+record+"."+p.Name, "", p); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// Unprepared returns the names of the quote properties that the account lacks. It fails
// if the token lacks a scope, or if new deals cannot have their stage. It changes nothing.
func (d *Driver) Unprepared(ctx context.Context) (missing []string, err error) {
	for _, record := range d.records() {
		wanted := definitions(record)
		var names []map[string]string
		for _, p := range wanted {
			names = append(names, map[string]string{"name": p.Name})
		}

		var known list[property]
		err := d.call(ctx, upstream.Request{
			Op:     "reading the properties of " + record,
			Method: http.MethodPost,
			Path:   d.path("properties", record) + "/batch/read",
			Safe:   true,
			Body:   map[string]any{"archived": false, "inputs": names},
		}, &known)
		if err != nil {
			return nil, err
		}
		for _, p := range wanted {
			if !slices.ContainsFunc(known.Results, p.isDefinedBy) {
				missing = append(missing, record+"."+p.Name)
			}
		}

		const op = "checking the permission to write"
		resp, err := d.client.Do(ctx, upstream.Request{
			Op:     op,
			Method: http.MethodPatch,
			Path:   d.path("objects", record) + "/0", // no record has this id
			Body:   map[string]any{"properties": map[string]string{}},
		})
		if err == nil && resp.Status == http.StatusForbidden {
			err = d.failure(op, resp)
		}
		if err != nil {
			return nil, err
		}
	}

	if d.DealStage != "" {
		_, err = d.firstStage(ctx)
	}
	return missing, err
}
