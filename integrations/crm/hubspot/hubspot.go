// Package hubspot is the CRM driver for HubSpot. It keeps one contact per e-mail
// address and never clears what a lead does not know.
//
// # How a lead is stored
//
// The contact is read by its address; what the lead changes is decided from what it
// holds; the change is written by the contact's id. Where there is no contact, one is
// created; an answer 409 names the one that somebody else created since (or that was
// not yet visible to the read, or has the address as a secondary one), and that one is
// updated. A repeated lead writes nothing, so a lead whose answer was lost is stored
// once.
//
// HubSpot has no conditional update. Within one process leads of one address take
// turns, so an older submission can't overwrite a newer one's quote properties. The
// window that remains: two processes that deliver two submissions of the same address
// at the same moment may interleave between read and write, and then the older one
// may stand. Life-cycle stages are never written.
//
// A property that the account does not have is created if the token may (scope
// crm.schemas.contacts.write). If it may not, or the account defines a property so that
// it refuses the value, the contact is stored without it and the gap is reported: a
// lead that arrives without its timeline is worth more than none. A property that is
// there and still called unknown, as happens to new ones, is waited for, for a minute.
//
// # Outcomes
//
//	time-out, reset, slow or oversized answer     Unavailable
//	2xx that is not the JSON expected             Unavailable: it may be a proxy's page
//	400 of an invalid address, 413, 422 …         Rejected
//	400 or 422 of another property                stored without it, reported
//	401, 402, 403                                 Refused
//	404 of a contact                              the contact is created
//	404, 405, 410 of anything else                Refused: the API address is wrong
//	409 that names a contact                      that contact is updated
//	409 that names none                           Unavailable
//	423                                           Unavailable, again after 2 s at least
//	429 DAILY                                     Limited, again after an hour
//	429 TEN_SECONDLY_ROLLING or unnamed           Limited, again after 10 s
//	429 SECONDLY                                  Limited, again after 1 s
//	477 (the account is being moved), 3xx, 5xx    Unavailable
//
// A Retry-After of HubSpot's own goes before those waits. Errors carry HubSpot's codes
// and correlation id and nothing it says about a contact.
package hubspot

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// Defaults of [Options].
const (
	DefaultBaseURL        = "https://api.hubapi.com"
	DefaultObjectsPath    = "/crm/v3/objects"
	DefaultPropertiesPath = "/crm/v3/properties"
	DefaultMaxBody        = 1 << 20
)

const system = "hubspot"

// Options of [New].
type Options struct {
	// BaseURL is where the API lives. Empty: DefaultBaseURL.
	BaseURL string
	// Token is that of a private app with the scopes crm.objects.contacts.read and
	// crm.objects.contacts.write, and for [Driver.Setup] crm.schemas.contacts.read and
	// crm.schemas.contacts.write.
	Token string
	// ObjectsPath is the path of objects, which holds the API's version. Empty:
	// DefaultObjectsPath.
	ObjectsPath string
	// PropertiesPath is the path of property definitions. Empty: DefaultPropertiesPath.
	PropertiesPath string
	// Timeout bounds each call; storing a lead takes two calls as a rule. 0:
	// upstream.DefaultTimeout.
	Timeout time.Duration
	// MaxBody is how many bytes of an answer are read. 0: DefaultMaxBody.
	MaxBody int
	// Transport carries the requests. nil: one of the client's own.
	Transport http.RoundTripper
	// Observe is told of every finished call. nil: nobody is.
	Observe func(ctx context.Context, c upstream.Call)
	// Report is told of every property that a stored contact had to go without, in a
	// sentence without personal data. nil: nobody is.
	Report func(gap string)
	// Sleep waits, or returns the context's error. nil: a timer. It is used by
	// [Driver.Missing] only, to stay within the rate limits.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now tells the time. nil: time.Now.
	Now func() time.Time
}

// Driver keeps contacts in HubSpot. It is safe for concurrent use.
type Driver struct {
	client     *upstream.Client
	contacts   string // path of contacts
	properties string // path of the definitions of contacts' properties
	report     func(gap string)
	sleep      func(ctx context.Context, d time.Duration) error
	now        func() time.Time
	turns      turns
	newcomers  newcomers
	gaps       atomic.Int64
}

var (
	_ crm.Contacts = (*Driver)(nil)
	_ crm.Setup    = (*Driver)(nil)
)

// New returns a driver. It does no I/O.
func New(o Options) *Driver {
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Driver{
		client: upstream.New(upstream.Options{
			System: system, BaseURL: or(o.BaseURL, DefaultBaseURL), Token: o.Token,
			Timeout: o.Timeout, MaxBody: o.MaxBody, Transport: o.Transport, Observe: o.Observe, Now: o.Now,
		}),
		contacts:   path(or(o.ObjectsPath, DefaultObjectsPath)) + "/contacts",
		properties: path(or(o.PropertiesPath, DefaultPropertiesPath)) + "/contacts",
		report:     o.Report,
		sleep:      o.Sleep,
		now:        o.Now,
	}
}

// Gaps returns how many properties contacts had to go without so far.
func (d *Driver) Gaps() int64 { return d.gaps.Load() }

// Ping lists one contact, which proves the address, the token and its right to read.
func (d *Driver) Ping(ctx context.Context) error {
	const op = "listing a contact"
	resp, err := d.client.Do(ctx, upstream.Request{
		Op: op, Path: d.contacts,
		Query: url.Values{"limit": {"1"}, "properties": {crm.PropSubmittedAt}},
	})
	if err != nil {
		return err
	}
	var page struct {
		Results *[]struct{} `json:"results"`
	}
	if resp.Status != http.StatusOK {
		return d.failure(op, resp)
	}
	if err := resp.Decode(&page); err != nil || page.Results == nil {
		return d.unexpected(op, resp)
	}
	return nil
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// path puts a configured path into one form: a slash before, none after.
func path(p string) string { return "/" + strings.Trim(p, "/") }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
