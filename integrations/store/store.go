// Package store is the contract with the database of tracked sessions and submitted
// leads. Drivers live in the folders below; each passes the conformance suite in
// storetest. When a method returns without an error, its changes are durable.
package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"siteapi/integrations/lead"
)

// Errors of every driver.
var (
	// ErrNotFound means that nothing is stored under the id.
	ErrNotFound = errors.New("not found")

	// ErrUnavailable means that the database cannot serve the request now (unreachable,
	// busy, full, read-only). If the connection broke during the commit, the whole
	// request may still have been stored; resubmitting a lead then returns the stored
	// one.
	ErrUnavailable = errors.New("database unavailable")

	// ErrKeyReused means that the idempotency key was first sent with different content.
	ErrKeyReused = errors.New("the idempotency key was used with different content")
)

// NewLead is a lead with the keys that identify a resubmission.
type NewLead struct {
	Lead lead.Lead
	// ContentKey is a digest of the session and the content. A second lead with the same
	// key is a resubmission of the first.
	ContentKey string
	// IdempotencyKey is a digest of the session and the Idempotency-Key header, empty if
	// the client sent none. It is bound to the content with which it was first sent.
	IdempotencyKey string
	// Network is a keyed hash of the client's network, used to limit mails to visitors.
	// It is empty if no such mails are sent.
	Network string
}

// Quotes is the part of the store that serves visitors' requests.
type Quotes interface {
	// Track stores the latest state of a session and counts it. A state that arrives
	// late, up to a minute older than the stored one, is counted but does not replace it.
	Track(ctx context.Context, v lead.Visit) error

	// Submit stores a lead together with its pending deliveries in one transaction; a
	// lead in review has no deliveries yet. For a resubmission, Submit returns the stored
	// lead and false, and records a new idempotency key. If the key was first sent with
	// different content, Submit stores nothing and returns ErrKeyReused.
	Submit(ctx context.Context, n NewLead) (s lead.Lead, created bool, err error)

	// Lead returns a stored lead, or ErrNotFound.
	Lead(ctx context.Context, id string) (lead.Lead, error)

	// Session returns the latest state of a session, or ErrNotFound.
	Session(ctx context.Context, id string) (lead.Session, error)

	// Ping checks that the database responds and accepts writes.
	Ping(ctx context.Context) error
}

// Filter narrows a listing of leads. Zero fields are ignored.
type Filter struct {
	Email     string    // address; any spelling of the same mailbox matches
	Reference string    // prefix of the id, ignoring case
	Since     time.Time // submitted at this time or later
	Until     time.Time // submitted before this time
	InReview  bool      // only leads in review
	Rejected  bool      // only rejected leads

	// Progress selects released leads with any of these states.
	Progress []lead.DeliveryState

	// Search lists words. Each must be a prefix of a word in the name, company or
	// message, or of the e-mail address, its domain or the id. A telephone number counts
	// as one word.
	Search string

	Locale      string  // only leads in this language
	Source      *string // only leads with this last source; empty: without one
	Campaign    string  // only leads with this last campaign
	ProjectType string  // only leads with this project type
	Consent     string  // only leads with this consent given and not withdrawn

	Owner  *string     // only leads of this owner, ignoring case; empty: unassigned
	Status lead.Status // only leads in this status
	IDs    []string    // only these leads

	// Bounds of the lower end of the estimate, in units of its currency.
	Currency string
	AtLeast  *float64
	AtMost   *float64

	ByAmount bool      // sort by the lower end of the estimate, ignoring its currency, else by time
	Newest   bool      // newest or largest first, else oldest or smallest first
	After    *Position // only leads after this position in the order of the listing
	Limit    int       // number of leads that the caller will read; 0: all
}

// Position is the position of a lead in a listing.
type Position struct {
	Amount      float64 // used only by listings sorted by amount
	SubmittedAt time.Time
	ID          string
}

// Archive is the part of the store that operators' commands and fields use.
type Archive interface {
	Funnel

	// Leads yields stored leads in the order of the filter.
	Leads(ctx context.Context, f Filter) iter.Seq2[lead.Lead, error]

	// InReview returns the number of leads in review and the submission time of the
	// oldest one, or the zero time if there are none.
	InReview(ctx context.Context) (number int64, oldest time.Time, err error)

	// Reject ends the review of a lead without delivering it; a later release is
	// possible. It returns false and changes nothing if the lead is not in review, and
	// ErrNotFound if the id is unknown.
	Reject(ctx context.Context, id string, audit ...AuditEntry) (rejected bool, err error)

	// Release ends the review of a lead, or revokes its rejection, and creates its
	// deliveries in one transaction. It returns false and changes nothing if the lead is
	// neither in review nor rejected, and ErrNotFound if the id is unknown. If undecided
	// is set, rejected leads are not released.
	Release(ctx context.Context, id string, undecided bool, audit ...AuditEntry) (released bool, err error)

	// PruneSessions removes sessions last seen before a time and returns their number.
	PruneSessions(ctx context.Context, before time.Time) (int64, error)

	// PruneLeads erases the leads submitted before a time and returns their number. It
	// keeps the proof of consents that were given and not withdrawn, leads in review, and
	// leads whose Progress is not Delivered.
	PruneLeads(ctx context.Context, before time.Time) (int64, error)

	// Erase removes a lead with its deliveries and the contact form entries of its
	// session, or returns ErrNotFound.
	Erase(ctx context.Context, id string, audit ...AuditEntry) error

	// WithdrawConsent records the withdrawal of a consent in all leads of an address in
	// which it was given, and delivers the released ones to the CMS and the CRM again.
	// Withdrawing [lead.SaveProgress] also erases the contact form entries of the
	// address's sessions, even if the consent was not given with a lead. It returns
	// ErrNotFound if there is nothing to withdraw.
	WithdrawConsent(
		ctx context.Context, email, purpose string, at time.Time, audit ...AuditEntry,
	) (Withdrawal, error)

	// CountAddress returns the number of consents stored for an address, including those
	// of leads erased by PruneLeads, and the number of sessions in which it was typed. It
	// counts any spelling of the same mailbox.
	CountAddress(ctx context.Context, email string) (consents, sessions int64, err error)

	// EraseAddress removes these consents and the contact form entries of these sessions
	// in one transaction, and returns their numbers.
	EraseAddress(ctx context.Context, email string) (consents, sessions int64, err error)
}

// Withdrawal counts the effects of withdrawing a consent.
type Withdrawal struct {
	Leads    int // leads in which it was withdrawn; the queue updates the CMS and the CRM
	Deleted  int // leads that PruneLeads had already erased; neither system is updated
	Sessions int // sessions whose contact fields were erased
}

// Load is the current load of a driver.
type Load struct {
	Waiting int // requests waiting to be written
	Busy    int // connections in use
	Idle    int // connections open and not in use
}
