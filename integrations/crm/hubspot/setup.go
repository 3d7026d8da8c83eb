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

// definitions returns the quote properties. Slugs are texts and not choices, because
// the CMS may bring new ones at any time and HubSpot refuses choices it was not told
// of; an account that prefers choices may define them so before the set-up.
func definitions() []definition {
	return []definition{
		{crm.PropProjectType, "Quote: project type", "Project type chosen in the calculator, as a slug.", "string", "text", Group},
		{crm.PropFeatures, "Quote: features", "Features chosen, as slugs joined by semicolons.", "string", "textarea", Group},
		{crm.PropComplexity, "Quote: complexity", "Complexity chosen, as a slug.", "string", "text", Group},
		{crm.PropTimeline, "Quote: timeline", "Timeline chosen, as a slug.", "string", "text", Group},
		{crm.PropMin, "Quote: estimate from", "Lower bound of the estimate, in the quote's currency.", "number", "number", Group},
		{crm.PropMax, "Quote: estimate to", "Upper bound of the estimate, in the quote's currency.", "number", "number", Group},
		{crm.PropCurrency, "Quote: currency", "Currency of the estimate (ISO 4217).", "string", "text", Group},
		{crm.PropSubmissionID, "Quote: reference", "Identifier of the latest quote request.", "string", "text", Group},
		{crm.PropSubmittedAt, "Quote: submitted at", "When the latest quote was requested.", "datetime", "date", Group},
		{crm.PropPDFURL, "Quote: PDF", "Address of the quote's PDF summary.", "string", "text", Group},
	}
}

// Setup creates the property group and all quote properties. One that exists is left
// as it is, and the line about it says so where it is of another type.
func (d *Driver) Setup(ctx context.Context) ([]string, error) {
	const op = "setting the properties up"
	var lines []string
	status, err := d.defineGroup(ctx, op)
	if err != nil {
		return lines, err
	}
	lines = append(lines, fmt.Sprintf("property group %s: %s", Group, outcome(status)))
	for _, def := range definitions() {
		status, err := d.post(ctx, op, d.properties, def)
		if err != nil {
			return lines, err
		}
		line := fmt.Sprintf("property %s: %s", def.Name, outcome(status))
		if status == http.StatusConflict {
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

func outcome(status int) string {
	if status == http.StatusConflict {
		return "exists already"
	}
	return "created"
}

// difference says how a property that exists differs from what it should be.
func (d *Driver) difference(ctx context.Context, op string, want definition) (string, error) {
	resp, err := d.client.Do(ctx, upstream.Request{Op: op, Path: d.properties + "/" + url.PathEscape(want.Name)})
	if err != nil {
		return "", err
	}
	// A token that may create but not read is not worth failing for: Type stays empty.
	var got definition
	if resp.Status == http.StatusOK {
		_ = resp.Decode(&got)
	}
	if got.Type == "" || got.Type == want.Type {
		return "", nil
	}
	return fmt.Sprintf(", as %s rather than %s: values it refuses are left out and reported", got.Type, want.Type), nil
}

// define creates properties and returns the names of those that are there now. It
// returns none where the token may not, which is no error.
func (d *Driver) define(ctx context.Context, defs []definition) (there []string, err error) {
	const op = "creating properties"
	if len(defs) == 0 {
		return nil, nil
	}
	if _, err := d.defineGroup(ctx, op); err != nil {
		return nil, passing(err)
	}
	for _, def := range defs {
		status, err := d.post(ctx, op, d.properties, def)
		if err != nil {
			return there, passing(err)
		}
		d.newcomers.met(def.Name, status != http.StatusConflict, d.now())
		there = append(there, def.Name)
	}
	return there, nil
}

func (d *Driver) defineGroup(ctx context.Context, op string) (int, error) {
	return d.post(ctx, op, d.properties+"/groups", map[string]string{"name": Group, "label": "Quote calculator"})
}

// post creates a definition and returns the status: of success, or 409 for one that exists.
func (d *Driver) post(ctx context.Context, op, path string, body any) (int, error) {
	resp, err := d.client.Do(ctx, upstream.Request{Op: op, Method: http.MethodPost, Path: path, Body: body})
	if err != nil {
		return 0, err
	}
	switch resp.Status {
	case http.StatusOK, http.StatusCreated, http.StatusConflict:
		return resp.Status, nil
	}
	return 0, d.failure(op, resp)
}

// passing keeps an error that a later try may not meet and drops the others: what the
// token may not do, or HubSpot will not, is a gap and no failure of the lead.
func passing(err error) error {
	switch upstream.KindOf(err) {
	case upstream.Refused, upstream.Rejected:
		return nil
	}
	return err
}
