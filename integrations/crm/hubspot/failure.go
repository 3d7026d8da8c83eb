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

// statusMigrating is HubSpot's custom status for an account that is being moved between
// data centers.
const statusMigrating = 477

// codeUnknown is HubSpot's code for a property that the account does not have.
const codeUnknown = "PROPERTY_DOESNT_EXIST"

// codes matches the codes of an error, missing scopes and the correlation id. No other
// part of an error is reported, because its sentences may quote the contact.
var codes = regexp.MustCompile(
	`"(?:category|subCategory|errorType|policyName|error|code|correlationId)"\s*:\s*"([\w.-]{1,80})"|"(crm\.[\w.-]+)"`)

// plain returns the text of an error without backslashes. HubSpot sends the list of
// refused properties either next to the message or as JSON inside it.
func plain(resp *upstream.Response) string { return strings.ReplaceAll(string(resp.Body), `\`, "") }

// codesOf returns the codes of an error.
func codesOf(resp *upstream.Response) string {
	var all []string
	for _, m := range codes.FindAllStringSubmatch(plain(resp), -1) {
		all = append(all, m[1]+m[2])
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// required matches the names of properties without which the account stores no record.
var required = regexp.MustCompile(`"propertyName"\s*:\s*\[?\s*"([\w.-]{1,100})"`)

// codeRequired ends HubSpot's codes for a property that the account's rules require,
// always or in some cases.
const codeRequired = "REQUIRED_PROPERTY"

// valueTaken reports whether HubSpot refuses a value because another record has it, and
// the property is unique.
func valueTaken(resp *upstream.Response) bool {
	return resp.Status == http.StatusConflict ||
		resp.Status == http.StatusBadRequest && strings.Contains(plain(resp), "already has that value")
}

// explain returns the beginning of a sentence about an error for sales, or nothing.
func explain(text string) string {
	switch {
	case strings.Contains(text, codeRequired):
		var names []string
		for _, m := range required.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		return "the account requires the property " + strings.Join(names, ", ") + ": "
	case strings.Contains(text, "MISSING_SCOPES"):
		return "the token lacks a scope: "

	case strings.Contains(text, codeUnknown) && strings.Contains(text, crm.PropLeadID):
		return "the account has no unique property quote_submission_id of deals, run `siteapi crm setup`: "
	case strings.Contains(text, `"`+crm.PropDealCurrency+`"`):
		return "the account does not have the currency of the quote, add it in HubSpot: "
	}
	return ""
}

// failure translates an unsuccessful response according to the table in the package
// comment.
func (d *Driver) failure(op string, resp *upstream.Response) error {
	text := plain(resp)
	detail := explain(text) + codesOf(resp)
	var kind upstream.Kind // empty: derived from the status
	if strings.Contains(text, codeUnknown) {
		kind = upstream.Refused // The lead waits until the account is prepared.
	}
	switch resp.Status {
	case http.StatusPaymentRequired, http.StatusUnauthorized, http.StatusForbidden:
		kind = upstream.Refused
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		kind = upstream.Refused
		detail += " check the API address"
	case http.StatusConflict, statusMigrating:
		kind = upstream.Unavailable
	}

	e := d.client.Failure(op, resp, kind, strings.TrimSpace(detail))
	if e.Kind == upstream.Limited && e.RetryAfter == 0 {
		e.Pause = limitPause(text)
	}
	return e
}

// limitPause returns the assumed duration of a rate limit.
func limitPause(text string) time.Duration {
	switch {
	case strings.Contains(text, "DAILY"):
		return 15 * time.Minute
	case strings.Contains(text, `"SECONDLY"`):
		return time.Second
	}
	return 10 * time.Second
}

// refusedProperties returns the sent properties that HubSpot refuses. It returns none if
// the response has another cause, or if HubSpot refuses a property without which the
// record cannot be stored.
func refusedProperties(record string, resp *upstream.Response, sent map[string]string) (refused []string) {
	text, deal := plain(resp), record == dealRecord
	if resp.Status != http.StatusBadRequest && resp.Status != http.StatusUnprocessableEntity ||
		strings.Contains(text, codeRequired) || deal && strings.Contains(text, crm.PropLeadID) {
		return nil
	}

	for name := range sent {
		if !strings.Contains(text, `"`+name+`"`) {
			continue
		}
		if name == crm.PropEmail || deal && !strings.HasPrefix(name, "quote_") {
			return nil
		}
		refused = append(refused, name)
	}

	if len(refused) == 0 && !deal && strings.Contains(text, codeUnknown) {
		// HubSpot does not name the property. It may be any property missing in a new
		// account.
		for _, p := range crm.Properties() {
			if _, ok := sent[p.Name]; ok && p.Quote() {
				refused = append(refused, p.Name)
			}
		}
	}
	return refused
}
