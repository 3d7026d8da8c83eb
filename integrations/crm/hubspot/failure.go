package hubspot

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"siteapi/integrations/upstream"
)

// How long to wait where HubSpot does not say.
const (
	waitDaily   = time.Hour // the day ends at midnight of an account whose time zone we don't know
	waitRolling = 10 * time.Second
	waitSecond  = time.Second
	waitLocked  = 2 * time.Second
)

// statusMigrating is HubSpot's own: the account is being moved between data centres.
const statusMigrating = 477

// code is what HubSpot's codes and correlation ids look like. Nothing else of an error
// is shown, because its sentences may quote the contact.
var code = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,80}$`)

// problem is an error of HubSpot's. Every field may be missing.
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

// failure translates an answer that is not what was asked for.
func (d *Driver) failure(op string, resp *upstream.Response) error {
	p := problemOf(resp)
	var kind upstream.Kind
	detail := p.detail(resp)
	switch resp.Status {
	case http.StatusPaymentRequired, http.StatusUnauthorized, http.StatusForbidden:
		// The sentence is about the token, never about a contact.
		kind, detail = upstream.Refused, joined(detail, p.Message)
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		kind, detail = upstream.Refused, joined("nothing answers here: check the address of the API", detail)
	case http.StatusConflict, statusMigrating:
		kind = upstream.Unavailable
	}
	e := d.client.Failure(op, resp, kind, detail)
	switch resp.Status {
	case http.StatusTooManyRequests:
		if e.RetryAfter == 0 {
			e.RetryAfter = p.wait()
		}
	case http.StatusLocked:
		e.RetryAfter = max(e.RetryAfter, waitLocked)
	}
	return e
}

// unexpected is the failure of an answer that claims success and does not show it.
func (d *Driver) unexpected(op string, resp *upstream.Response) error {
	return d.client.Failure(op, resp, upstream.Unavailable, "the answer is not what HubSpot sends")
}

// givenUp is the failure of a wait that ended with its context.
func givenUp(op string, err error) error {
	return &upstream.Error{System: system, Op: op, Kind: upstream.Unavailable, Detail: "given up by the caller", Err: err}
}

// problemOf reads an error as far as it can be read.
func problemOf(resp *upstream.Response) problem {
	var p problem
	// A field of the wrong type is skipped; a page that isn't JSON leaves all empty.
	_ = json.Unmarshal(resp.Body, &p)
	return p
}

// wait is how long a policy wants to be left alone.
func (p problem) wait() time.Duration {
	switch {
	case strings.Contains(p.PolicyName, "DAILY"):
		return waitDaily
	case p.PolicyName == "SECONDLY":
		return waitSecond
	}
	return waitRolling
}

// detail joins the codes: of the error, of single properties, and what scopes are wanting.
func (p problem) detail(resp *upstream.Response) string {
	parts := []string{p.Category, p.SubCategory, p.ErrorType, p.PolicyName}
	var body any
	found := map[string]string{}
	if json.Unmarshal(resp.Body, &body) == nil {
		collect(body, found)
	}
	for name, code := range found {
		parts = append(parts, name+"."+code)
	}
	for _, e := range p.Errors {
		parts = append(parts, e.Context.RequiredScopes...)
		parts = append(parts, e.Context.RequiredGranularScopes...)
	}
	shown := parts[:0]
	for _, part := range append(parts, p.CorrelationID) {
		if code.MatchString(part) {
			shown = append(shown, part)
		}
	}
	return strings.Join(shown, " ")
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}
