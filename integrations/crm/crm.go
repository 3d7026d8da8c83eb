// Package crm is the contract with the customer relationship management system, which
// holds one contact per e-mail address with the properties of its latest quote.
// Drivers live in the folders below; each passes the conformance suite in crmtest.
// Failures are *upstream.Error.
package crm

import (
	"context"
	"strings"

	"siteapi/integrations/lead"
)

// Contact is a lead on its way to the CRM, and the address of its PDF, which is absolute
// if the site's address is known, else relative.
type Contact struct {
	Lead   *lead.Lead
	PDFURL string
}

// Contacts keeps one contact per e-mail address. Every driver implements it.
type Contacts interface {
	// Upsert creates or updates the contact with the lead's address, as [Changes] says.
	// Repeating it changes nothing.
	Upsert(ctx context.Context, l Contact) error

	// Ping makes one cheap round trip that proves address and credentials.
	Ping(ctx context.Context) error
}

// Lookup tells which contacts there are. Every driver implements it.
type Lookup interface {
	// Missing returns the e-mail addresses among the given ones that have no contact. A
	// driver that keeps nothing, since it only passes leads on, returns
	// [errors.ErrUnsupported]: an erasure then finds nothing there, and a verification
	// counts the deliveries instead.
	Missing(ctx context.Context, emails []string) ([]string, error)
}

// Eraser deletes contacts for good. Every driver implements it.
type Eraser interface {
	// Erase deletes the contact with this address. Having none is not an error, and a
	// driver that keeps nothing returns nil.
	Erase(ctx context.Context, email string) error
}

// Setup is a driver whose CRM has to be prepared for leads.
type Setup interface {
	// Setup creates what Upsert needs and reports each step on a line.
	// Repeating it is safe.
	Setup(ctx context.Context) ([]string, error)
}

// Address returns the form of an e-mail address that identifies a contact:
// trimmed and in lower case.
func Address(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Addressable reports whether an address has a local part and a domain.
func Addressable(email string) bool {
	local, domain, ok := strings.Cut(Address(email), "@")
	return ok && local != "" && domain != ""
}
