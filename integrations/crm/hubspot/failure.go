package hubspot

import (
	"encoding/json"
	"net/http"
	"regexp"
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

var (
	// code matches HubSpot's codes and correlation ids. Nothing else of an error is
	// shown, because its sentences may quote the contact.
	code = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,80}$`)
	// unknownName finds the name in HubSpot's sentence about an unknown property.
	unknownName = regexp.MustCompile(`Property \\*["']([a-zA-Z0-9_]+)\\*["'] does not exist`)
)

// problem is an error from HubSpot. Every field may be missing.
type problem struct {
	Message       string `json:"message"`
	Category      string `json:"category"`
	SubCategory   string `json:"subCategory"`
	ErrorType     string `json:"errorType"`
	PolicyName    string `json:"policyName"`
	CorrelationID string `json:"correlationId"`
	Errors        []struct {
		Context struct {
			RequiredScopes         []string `json:"requiredScopes"`
			RequiredGranularScopes []string `json:"requiredGranularScopes"`
		} `json:"context"`
	} `json:"errors"`
}

// failure translates an unsuccessful answer, as the table in the package comment says.
func (d *Driver) failure(op string, resp *upstream.Response) error {
	var p problem
	// A field of the wrong type is skipped. A page that is not JSON leaves all fields
	// empty.
	_ = json.Unmarshal(resp.Body, &p)

	parts := p.codes(resp)
	var kind upstream.Kind // empty for the general meaning of the status
	switch resp.Status {
	case http.StatusPaymentRequired, http.StatusUnauthorized, http.StatusForbidden:
		kind = upstream.Refused
		parts = append(parts, p.Message) // the message is about the token, never about a contact
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		kind = upstream.Refused
		parts = append(parts, "check the address of the API")
	case http.StatusConflict, statusMigrating:
		kind = upstream.Unavailable
	}

	e := d.client.Failure(op, resp, kind, strings.TrimSpace(strings.Join(parts, " ")))
	if e.Kind == upstream.Limited && e.RetryAfter == 0 {
		e.Pause = p.pause()
	}

	return e
}

// unexpected returns the error of an answer that claims success without the expected
// content.
func (d *Driver) unexpected(op string, resp *upstream.Response) error {
	return d.client.Failure(op, resp, upstream.Unavailable, "the answer is not what HubSpot sends")
}

// pause returns how long a rate limit is assumed to last.
func (p problem) pause() time.Duration {
	switch {
	case strings.Contains(p.PolicyName, "DAILY"):
		return 15 * time.Minute
	case p.PolicyName == "SECONDLY":
		return time.Second
	}
	return 10 * time.Second
}

// codes lists the codes of an error, the codes of single properties in it, and
// the missing scopes.
func (p problem) codes(resp *upstream.Response) []string {
	all := []string{p.Category, p.SubCategory, p.ErrorType, p.PolicyName}
	for name, code := range propertyCodes(resp) {
		all = append(all, name+"."+code)
	}

	for _, e := range p.Errors {
		all = append(all, e.Context.RequiredScopes...)
		all = append(all, e.Context.RequiredGranularScopes...)
	}

	shown := all[:0]
	for _, part := range append(all, p.CorrelationID) {
		if code.MatchString(part) {
			shown = append(shown, part)
		}
	}
	return shown
}

// refusedProperties returns the sent properties that HubSpot refuses, with its code for
// each. There are none if the answer is about anything else, or if it refuses the
// address, without which there is no contact.
func refusedProperties(resp *upstream.Response, sent map[string]string) map[string]string {
	if resp.Status != http.StatusBadRequest && resp.Status != http.StatusUnprocessableEntity {
		return nil
	}

	refused := map[string]string{}
	for name, code := range propertyCodes(resp) {
		if _, ok := sent[name]; ok {
			refused[name] = code
		}
	}

	if _, ok := refused[crm.PropEmail]; ok {
		return nil
	}

	if len(refused) == 0 && strings.Contains(string(resp.Body), codeUnknown) {
		// HubSpot does not name the property. It may be any that a new account lacks.
		for _, p := range crm.Properties() {
			if _, ok := sent[p.Name]; ok && p.Quote() {
				refused[p.Name] = codeUnknown
			}
		}
	}

	return refused
}

// propertyCodes returns the codes of single properties in an error, by name.
func propertyCodes(resp *upstream.Response) map[string]string {
	found := map[string]string{}
	var body any
	if json.Unmarshal(resp.Body, &body) == nil {
		collect(body, found)
	}

	for _, m := range unknownName.FindAllSubmatch(resp.Body, -1) {
		found[string(m[1])] = codeUnknown
	}

	return found
}

// collect walks an error of any shape and picks up each property name with its code.
// HubSpot puts that list either into the text of the message or beside it.
func collect(v any, found map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		context, _ := v["context"].(map[string]any)
		name := first(context["propertyName"], v["name"], v["propertyName"], v["in"])
		if c := first(v["error"], v["code"]); name != "" && code.MatchString(c) {
			found[name] = c
		}

		for _, inner := range v {
			collect(inner, found)
		}
	case []any:
		for _, inner := range v {
			collect(inner, found)
		}
	case string:
		var inner any
		start := strings.IndexAny(v, "[{")
		if start >= 0 && json.NewDecoder(strings.NewReader(v[start:])).Decode(&inner) == nil {
			collect(inner, found)
		}
	}
}

// first returns the first string among values, or among the first elements of lists.
func first(values ...any) string {
	for _, v := range values {
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0]
		}
		if s, ok := v.(string); ok {
			return s
		}
	}
	return ""
}
