// Package store keeps tracked sessions, submitted leads and what belongs to them in a
// database. [Store] has all SQL; a driver, in a folder below, implements [Database] and
// passes the conformance suite in storetest. When a method returns without an error, its
// changes are durable.
package store

import (
	"errors"
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
	// Texts is the revision of the firm's texts with which the lead is accepted; empty:
	// none. Lead.Texts has the texts.
	Texts string
}

// Filter narrows a listing of leads. Zero fields are ignored.
type Filter struct {
	Email     string    // address, as corrected by an operator if so; any spelling of the same mailbox matches
	Typed     string    // address that the visitor typed, in any spelling
	NotEmail  string    // excludes this address, in any spelling
	Session   string    // id of the session
	Reference string    // prefix of the id, ignoring case
	Since     time.Time // submitted at this time or later
	Until     time.Time // submitted before this time

	State lead.State // only leads in this state

	// Search lists words. Each must be a prefix of a word in the name, company or
	// message, or of the e-mail address, its domain or the id. A telephone number counts
	// as one word.
	Search string

	Locale      string   // only leads in this language
	Sources     []string // only leads with one of these last sources; an empty one: without a source
	Campaigns   []string // only leads with one of these last campaigns
	ProjectType string   // only leads with this project type
	Consent     string   // only leads with this consent given and not withdrawn

	Owner  *string     // only leads of this owner, ignoring case; empty: unassigned
	Status lead.Status // only leads in this status
	IDs    []string    // only these leads

	DeletionOpen bool // only leads whose visitors asked for the deletion and were not refused
	Due          bool // only leads whose time of the follow-up has come

	Results        []lead.Result // only released leads with one of these results
	AnsweredInTime bool          // only leads that a person answered within [AnswerTime]

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
