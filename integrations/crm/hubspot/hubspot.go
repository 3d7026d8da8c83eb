// Package hubspot is the CRM driver for HubSpot: one contact per e-mail address, and one
// deal per lead unless deals are off.
//
// # How a lead is stored
//
// The driver reads the contact by its address, compares its properties with the lead, and
// writes the changes by the contact's id. If there is no contact, the driver creates one.
// A response 409 names an existing contact that the read did not return (created since,
// not yet visible, or with the address as a secondary one); this contact is then updated.
// A repeated lead writes nothing to the contact.
//
// The deal follows the contact. It is updated by its unique property with the lead's id;
// if there is none, it is created in its first stage. Then it is associated with the
// contact. An interrupted delivery repeats all steps: each of them finds what is done, so
// nothing has to be recorded in between, and a contact that was deleted meanwhile exists
// again. The properties that people maintain are only written when the deal is created.
//
// HubSpot has no conditional update: if two processes store two leads of an address at
// the same time, the older quote may remain. Life-cycle stages are never written.
//
// A property missing in the account is created if the token has the scope
// crm.schemas.contacts.write or crm.schemas.deals.write. Without this scope, or if the
// account refuses the value, the record is stored without the property, and the omission
// is reported. A deal is never stored without the lead's id, its stage or its amount.
// HubSpot may report a new property as unknown for some time; a recent lead waits until it
// is known.
//
// # Outcomes
//
//	timeout, reset, slow or oversized response    Unavailable
//	2xx without the expected JSON                 Unavailable: it may be a proxy's page
//	400 of an invalid address, 413, 422 …         Rejected
//	400 of a property that the account requires   Rejected, with its name
//	400 of a deal's currency                      Rejected
//	400 of an undefined lead's id in deals        Refused: the account is not prepared
//	stage of deals unknown or archived            Refused: the setting is wrong
//	400 or 422 of another property                stored without it, reported
//	401, 402, 403                                 Refused
//	404 of a contact or deal                      it is created
//	404, 405, 410 of anything else                Refused: the API address is wrong
//	409 that names a contact                      that contact is updated
//	409 or 400 of a second deal                   the first deal is updated
//	409 that names none, 423                      Unavailable
//	429 DAILY                                     Limited, pause 15 min
//	429 TEN_SECONDLY_ROLLING or unnamed           Limited, pause 10 s
//	429 SECONDLY                                  Limited, pause 1 s
//	477 (the account is being moved), 3xx, 5xx    Unavailable
//
// These pauses apply unless HubSpot sends a Retry-After. Errors contain HubSpot's codes
// and correlation id, but no data about a contact.
package hubspot

import (
	"context"
	"hash/maphash"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

const system = "hubspot"

// These are HubSpot's names of the types of records.
const (
	contactRecord = "contacts"
	dealRecord    = "deals"
)

// Options are the settings of [New].
type Options struct {
	BaseURL string
	// Token is a service key, or the access token of a private app, with the scopes in
	// the manual.
	Token string
	// Version is the API version: v3, or a later version named by its date, for example
	// 2026-03.
	Version string
	// DealStage is the pipeline and stage of new deals, as <pipeline>/<stage>, by ids or
	// labels. If it is empty, deals are off.
	DealStage string
	// OnOmitted is called for every property omitted from a contact, with a message free
	// of personal data.
	OnOmitted func(text string)
	// Transport and Observe are passed to the HTTP client; both may be nil.
	Transport http.RoundTripper
	Observe   func(ctx context.Context, c upstream.Call)
}

// Driver implements every interface of package crm. It is safe for concurrent use.
type Driver struct {
	Options
	client   *upstream.Client
	contacts string // path of contacts
	deals    string // path of deals
	pages    pages
	seed     maphash.Seed
	locks    [64]sync.Mutex // chosen by the hash of an address
}

// New returns a driver. It does no I/O.
func New(o Options) *Driver {
	o.DealStage = strings.TrimSpace(o.DealStage)
	return &Driver{
		Options: o,
		client: upstream.New(upstream.Options{
			System:    system,
			BaseURL:   o.BaseURL,
			Token:     o.Token,
			MaxBody:   1 << 20,
			Transport: o.Transport,
			Observe:   o.Observe,
		}),
		contacts: o.path("objects", contactRecord),
		deals:    o.path("objects", dealRecord),
		seed:     maphash.MakeSeed(),
	}
}

// path returns the path of an API for a type of record, such as contacts. A date version
// follows the name of the API; v3 precedes it.
func (o Options) path(api, record string) string {
	if strings.HasPrefix(o.Version, "v") {
		return "/crm/" + o.Version + "/" + api + "/" + record
	}
	return "/crm/" + api + "/" + o.Version + "/" + record
}

// lock serializes the calls of this process for an address.
func (d *Driver) lock(address string) (unlock func()) {
	mu := &d.locks[maphash.String(d.seed, address)%uint64(len(d.locks))]
	mu.Lock()
	return mu.Unlock
}

// Ping lists one contact to verify the address, the token and its permission to read.
func (d *Driver) Ping(ctx context.Context) error {
	return d.call(ctx, upstream.Request{
		Op:    "listing a contact",
		Path:  d.contacts,
		Query: url.Values{"limit": {"1"}, "properties": {crm.PropSubmittedAt}},
	}, &list[record]{})
}
