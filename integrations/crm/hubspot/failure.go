package hubspot

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// statusMigrating is HubSpot's own status for an account that is being moved
// between data centres.
const statusMigrating = 477

// codeUnknown is HubSpot's code for a property that the account does not have.
const codeUnknown = "PROPERTY_DOESNT_EXIST"

// codes finds the codes of an error, missing scopes and the correlation id. Nothing else of
// an error is shown, because its sentences may quote the contact.
var codes = regexp.MustCompile(
	`"(?:category|subCategory|errorType|policyName|error|code|correlationId)"\s*:\s*"([\w.-]{1,80})"|"(crm\.[\w.-]+)"`)

// plain returns the text of an error. HubSpot puts the list of refused properties either
// beside the message or, as JSON, into it.
func plain(resp *upstream.Response) string { return strings.ReplaceAll(string(resp.Body), `\`, "") }

// codesOf lists the codes of an error.
func codesOf(resp *upstream.Response) string {
	var all []string
	for _, m := range codes.FindAllStringSubmatch(plain(resp), -1) {
		all = append(all, m[1]+m[2])
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// failure translates an unsuccessful answer, as the table in the package comment says.
func (d *Driver) failure(op string, resp *upstream.Response) error {
	detail := codesOf(resp)
	var kind upstream.Kind // empty for the general meaning of the status
	switch resp.Status {
	case http.StatusPaymentRequired, http.StatusUnauthorized, http.StatusForbidden:
		kind = upstream.Refused
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		kind = upstream.Refused
		detail += " check the address of the API"
	case http.StatusConflict, statusMigrating:
		kind = upstream.Unavailable
	}

	e := d.client.Failure(op, resp, kind, strings.TrimSpace(detail))
	if e.Kind == upstream.Limited && e.RetryAfter == 0 {
		e.Pause = limitPause(plain(resp))
	}
	return e
}

// limitPause returns how long a rate limit is assumed to last.
func limitPause(text string) time.Duration {
	switch {
	case strings.Contains(text, "DAILY"):
		return 15 * time.Minute
	case strings.Contains(text, `"SECONDLY"`):
		return time.Second
	}
	return 10 * time.Second
}

// refusedProperties returns the sent properties that HubSpot refuses. There are none if the
// answer is about anything else, or if it refuses the address, without which there is no
// contact.
func refusedProperties(resp *upstream.Response, sent map[string]string) (refused []string) {
	if resp.Status != http.StatusBadRequest && resp.Status != http.StatusUnprocessableEntity {
		return nil
	}

	text := plain(resp)
	for name := range sent {
		if strings.Contains(text, `"`+name+`"`) {
			refused = append(refused, name)
		}
	}
	if slices.Contains(refused, crm.PropEmail) {
		return nil
	}

	if len(refused) == 0 && strings.Contains(text, codeUnknown) {
		// HubSpot does not name the property. It may be any that a new account lacks.
		for _, p := range crm.Properties() {
			if _, ok := sent[p.Name]; ok && p.Quote() {
				refused = append(refused, p.Name)
			}
		}
	}
	return refused
}
