// Package crm is the contract with the customer relationship management system, which
// stores one contact per e-mail address with the properties of its latest quote, and one
// deal per lead. Drivers live in the folders below; each passes the conformance suite in
// crmtest. Failures are *upstream.Error.
package crm

import (
	"context"
	"strings"
	"time"

	"siteapi/integrations/lead"
)

// Contact is a lead to store in the CRM, with the addresses of its PDF and its page. They
// are absolute if the site's address is known, and relative otherwise.
type Contact struct {
	Lead        *lead.Lead
	PDFURL      string
	PageURL     string
	ProjectType string // label of the project type; empty: unknown
	TimeZone    *time.Location
}

// Contacts stores one contact per e-mail address, and one deal per lead. Every driver
// implements it.
type Contacts interface {
	// Upsert creates or updates the contact with the lead's address, according to
	// [Changes], and then the lead's deal: a new one has the properties of [NewDeal], an
	// existing one gets those of [DealQuote]. Repeating it changes nothing, and completes
	// what an interrupted call has begun. It returns the records that it made or found,
	// also with an error.
	Upsert(ctx context.Context, l Contact) (lead.Records, error)

	// Ping verifies the address and the credentials with one cheap round trip.
	Ping(ctx context.Context) error
}

// Lookup reports which contacts and deals exist. Every driver implements it.
type Lookup interface {
	// Missing returns those of the given e-mail addresses that have no contact. A driver
	// that only forwards leads and stores no contacts returns [errors.ErrUnsupported]:
	// erasure then finds nothing in the CRM, and verification counts the deliveries
	// instead.
	Missing(ctx context.Context, emails []string) ([]string, error)

	// FindDeals returns those of the given leads that have a deal. A driver that stores no
	// deals returns [errors.ErrUnsupported].
	FindDeals(ctx context.Context, leads []string) ([]string, error)
}

// Eraser removes persons. Every driver implements it. One that stores no such records
// returns [errors.ErrUnsupported].
type Eraser interface {
	// EraseDeals removes the person from the deals of the erasure's leads, from those with
	// one of its addresses, and from copies of both, as [Erasure.Deal] decides for each. Those
	// of other stored leads stay, and are returned as foreign. It is called before
	// EraseContacts.
	EraseDeals(ctx context.Context, e Erasure) ([]Erased, error)

	// EraseContacts permanently deletes the contacts of the erasure, or removes the quote
	// from them, as [Erasure.Contact] decides for each. It finds them by all addresses of
	// the erasure and by the records of its leads.
	EraseContacts(ctx context.Context, e Erasure) ([]Erased, error)
}

// Setup is a driver that can prepare its CRM for leads.
type Setup interface {
	// Setup creates the definitions that Upsert needs and returns one line per step.
	// Repeating it is safe.
	Setup(ctx context.Context) ([]string, error)

	// Unprepared returns the names of the definitions that Setup would create. It fails if
	// the CRM would refuse all leads, for example without a permission.
	Unprepared(ctx context.Context) ([]string, error)
}

// Address normalizes an e-mail address to the form that identifies a contact: trimmed and
// in lower case.
func Address(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Addressable reports whether an address has a local part and a domain.
func Addressable(email string) bool {
	local, domain, ok := strings.Cut(Address(email), "@")
	return ok && local != "" && domain != ""
}
