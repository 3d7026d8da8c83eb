// Package store is the contract with the database, which keeps tracked sessions and
// submitted quotes. Drivers live in the folders below; each passes the conformance suite
// in storetest. A method that returns nil has made its data durable.
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

	// ErrUnavailable means that the database can't take the request now (away, busy,
	// full, read-only). If the connection broke during the commit, the whole request may
	// have been stored all the same: a lead that is sent again finds the first one.
	ErrUnavailable = errors.New("database unavailable")

	// ErrKeyReused means that the idempotency key was first sent with other content.
	ErrKeyReused = errors.New("the idempotency key stands for other content")
)

// NewLead is a lead with the keys by which a repetition is recognized.
type NewLead struct {
	Lead lead.Lead
	// ContentKey is a digest of session and content. A second lead with the same
	// key is a repetition of the first.
	ContentKey string
	// IdempotencyKey is a digest of session and Idempotency-Key header, empty if the
	// client sent none. It belongs to the content that it was first sent with.
	IdempotencyKey string
	// Network is a keyed hash of the network that the lead came from, by which the
	// mails to visitors are limited. It is empty if none are sent.
	Network string
}

// Quotes is the part of the store that the service needs while it answers requests.
type Quotes interface {
	// Track stores the latest state of a session and counts it. A state that arrives
	// late, up to a minute older than the stored one, is counted but not kept.
	Track(ctx context.Context, v lead.Visit) error

	// Submit stores a lead together with its pending deliveries in one transaction;
	// a lead in review gets no deliveries yet. A repetition returns the stored
	// lead and false, and remembers a new idempotency key. If the key was first
	// sent with other content, Submit stores nothing and returns ErrKeyReused.
	Submit(ctx context.Context, n NewLead) (s lead.Lead, created bool, err error)

	// Lead returns a stored lead, or ErrNotFound.
	Lead(ctx context.Context, id string) (lead.Lead, error)

	// Session returns the latest state of a session, or ErrNotFound.
	Session(ctx context.Context, id string) (lead.Session, error)

	// Ping checks that the database answers and takes writes.
	Ping(ctx context.Context) error
}

// Filter narrows a listing of leads. Zero fields don't narrow.
type Filter struct {
	Email     string    // address, in any spelling that reaches its mailbox
	Reference string    // beginning of the id, letter case ignored
	Since     time.Time // submitted at this time or later
	Until     time.Time // submitted before this time
	InReview  bool      // only leads in review
	Rejected  bool      // only rejected leads

	// Progress selects released leads by their Progress: any of these.
	Progress []lead.DeliveryState

	// Search lists words. Each has to be the beginning of a word of the name or company, of
	// the e-mail address, its domain, the message or the id. A telephone number is one word.
	Search string

	Locale      string  // only leads in this language
	Source      *string // only leads of visitors who came from there at last; empty: of those who did not say
	Campaign    string  // only leads of visitors who came by it at last
	ProjectType string  // only leads with this project
	Consent     string  // only leads whose visitors agreed to this purpose and have not withdrawn it

	Owner  *string     // only leads of this owner, letter case ignored; empty: of none
	Status lead.Status // only leads in this status
	IDs    []string    // only these leads

	// The lower bound of the range, in units of its currency.
	Currency string
	AtLeast  *float64
	AtMost   *float64

	ByAmount bool      // sorted by the lower bound of the range, whatever its currency, else by time
	Newest   bool      // newest or largest first, else oldest or smallest first
	After    *Position // only leads after this one in the order of the listing
	Limit    int       // number of leads the caller is going to read; 0: all
}

// Position is the place of a lead in the order of a listing.
type Position struct {
	Amount      float64 // used by a listing that is sorted by it
	SubmittedAt time.Time
	ID          string
}

// Archive is the part of the store that operators' commands and fields need.
type Archive interface {
	Funnel

	// Leads yields stored leads in the order that the filter asks for.
	Leads(ctx context.Context, f Filter) iter.Seq2[lead.Lead, error]

	// InReview returns the number of leads in review and the time the oldest of
	// them was submitted, or the zero time if there are none.
	InReview(ctx context.Context) (number int64, oldest time.Time, err error)

	// Reject ends the review of a lead so that it is never delivered, unless it is
	// released after all. It returns false, and changes nothing, if the lead was
	// not in review, and ErrNotFound if the id is unknown.
	Reject(ctx context.Context, id string, audit ...AuditEntry) (rejected bool, err error)

	// Release ends the review of a lead, or revokes its rejection, and creates its
	// deliveries in one transaction. It returns false, and changes nothing, if the
	// lead was neither in review nor rejected, and ErrNotFound if the id is
	// unknown. If undecided is set, a rejected lead stays as it is, too.
	Release(ctx context.Context, id string, undecided bool, audit ...AuditEntry) (released bool, err error)

	// PruneSessions removes sessions last seen before a time and returns their number.
	PruneSessions(ctx context.Context, before time.Time) (int64, error)

	// PruneLeads erases the leads made before a time, except for the proof of consents that
	// were given and not withdrawn, and returns their number. Leads in review, and those
	// whose Progress is not Delivered, stay.
	PruneLeads(ctx context.Context, before time.Time) (int64, error)

	// Erase removes a lead with its deliveries, and the contact form entries from
	// its session, or returns ErrNotFound.
	Erase(ctx context.Context, id string, audit ...AuditEntry) error

	// WithdrawConsent records that a person no longer agrees, in all leads of an address
	// in which it was given, and delivers those that were released to the CMS and the CRM
	// again. With [lead.SaveProgress] what was typed into sessions is erased, too, whether it
	// was given with a lead or not. It returns ErrNotFound if there is nothing to withdraw.
	WithdrawConsent(
		ctx context.Context, email, purpose string, at time.Time, audit ...AuditEntry,
	) (Withdrawal, error)

	// CountAddress returns the number of consents that are stored about an address, those of
	// leads that PruneLeads erased too, and of sessions in which it was typed, in any
	// spelling.
	CountAddress(ctx context.Context, email string) (consents, sessions int64, err error)

	// EraseAddress removes these consents, and the contact form entries from these sessions,
	// in one transaction, and returns their numbers.
	EraseAddress(ctx context.Context, email string) (consents, sessions int64, err error)
}

// Withdrawal counts what the withdrawal of a consent has changed.
type Withdrawal struct {
	Leads    int // leads in which it was withdrawn; the queue tells the CMS and the CRM
	Deleted  int // leads that retention had deleted, so that neither can be told of them
	Sessions int // sessions whose contact fields were erased
}

// Load is how busy a driver is.
type Load struct {
	Waiting int // requests waiting to be written
	Busy    int // connections in use
	Idle    int // connections open and not in use
}
