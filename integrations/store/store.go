// Package store is the contract with the database: tracked sessions and submitted
// quotes. Drivers live in the folders below; each passes the conformance suite in
// storetest. A method that returns nil has made its data durable.
package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"siteapi/integrations/quote"
)

// Errors of every driver.
var (
	// ErrNotFound means there is nothing stored under that id.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable means that the database can't take the request now (away, busy, full,
	// read-only). Where the connection broke during the commit it may have been stored all
	// the same, whole: a submission sent again finds the first one.
	ErrUnavailable = errors.New("database unavailable")
	// ErrKeyReused means that the idempotency key was first sent with other content.
	ErrKeyReused = errors.New("the idempotency key stands for other content")
)

// NewSubmission is a submission with the keys by which a repetition is recognized.
type NewSubmission struct {
	Submission quote.Submission
	// ContentKey is a digest of session and content. A second submission with the same
	// key is a repetition of the first.
	ContentKey string
	// IdempotencyKey is a digest of session and Idempotency-Key header, empty where the
	// client sent none. It belongs to the content that it was first sent with.
	IdempotencyKey string
}

// Quotes is what the service needs while it answers requests.
type Quotes interface {
	// Track stores the latest state of a session and counts it. A state that arrives
	// late, up to a minute older than the stored one, is counted but not kept.
	Track(ctx context.Context, v quote.Visit) error
	// Submit stores a submission together with its pending deliveries in one
	// transaction; one that is in review gets no deliveries yet. A repetition returns the
	// stored submission and false, and remembers a new idempotency key. A key that was
	// sent with other content is ErrKeyReused, and nothing is stored.
	Submit(ctx context.Context, n NewSubmission) (s quote.Submission, created bool, err error)
	// Submission returns a stored submission, or ErrNotFound.
	Submission(ctx context.Context, id string) (quote.Submission, error)
	// Session returns the latest state of a session, or ErrNotFound.
	Session(ctx context.Context, id string) (quote.Session, error)
	// Ping checks that the database answers and takes writes.
	Ping(ctx context.Context) error
}

// Filter narrows a listing of submissions. Zero fields don't narrow.
type Filter struct {
	Email     string    // exact address, letter case ignored
	Reference string    // beginning of the id, letter case ignored
	Since     time.Time // submitted at or after
	Until     time.Time // submitted before
	InReview  bool      // in review only
	Rejected  bool      // rejected only
	Search    string    // words that first name, last name, e-mail address or id begin with; all have to
	Locale    string    // in this language
	IDs       []string  // these submissions
	Newest    bool      // newest first, else oldest first
	After     *Position // what comes after it in that order
	Limit     int       // how many the caller is going to read; 0: all
}

// Position is the place of a submission in the order of a listing.
type Position struct {
	SubmittedAt time.Time
	ID          string
}

// Archive is what operators' commands and fields need.
type Archive interface {
	// Submissions yields stored submissions in the order that the filter asks for.
	Submissions(ctx context.Context, f Filter) iter.Seq2[quote.Submission, error]
	// Sessions yields the latest state of each session, in no particular order. Those
	// that appear or change meanwhile may or may not be seen.
	Sessions(ctx context.Context) iter.Seq2[quote.Session, error]
	// CountSubmissions returns the number of stored submissions.
	CountSubmissions(ctx context.Context) (int64, error)
	// InReview returns the number of submissions in review, and when the oldest of them
	// was submitted; the zero time where there are none.
	InReview(ctx context.Context) (number int64, oldest time.Time, err error)
	// Reject ends the review of a submission so that it is never delivered, unless it is
	// released after all. One that was not in review is left alone, and false is returned. An unknown id is ErrNotFound.
	Reject(ctx context.Context, id string) (rejected bool, err error)
	// Release ends the review of a submission, or takes back that it was rejected, and creates
	// its deliveries in one transaction. Any other is left alone, and false is returned. An unknown id is ErrNotFound.
	Release(ctx context.Context, id string) (released bool, err error)
	// PruneSessions removes sessions last seen before a time and returns their number.
	PruneSessions(ctx context.Context, before time.Time) (int64, error)
	// PruneSubmissions erases the submissions made before a time and returns their
	// number. Those in review or with unfinished deliveries stay.
	PruneSubmissions(ctx context.Context, before time.Time) (int64, error)
	// Erase removes a submission with its deliveries, and what the visitor typed of the
	// contact form from its session, or returns ErrNotFound.
	Erase(ctx context.Context, id string) error
	// CountHints returns the number of sessions in which an address was typed, letter
	// case ignored. There is no index for that: it reads all sessions.
	CountHints(ctx context.Context, email string) (int64, error)
	// EraseHints removes from those sessions what was typed of the contact form and
	// returns their number.
	EraseHints(ctx context.Context, email string) (int64, error)
}

// Queue returns the delivery queue as it takes part in a transaction of the store. TX is the driver's transaction.
type Queue[TX any] func(tx TX) Deliveries

// Deliveries is the delivery queue within a transaction.
type Deliveries interface {
	// Enqueue creates the deliveries of submissions.
	Enqueue(ctx context.Context, submissionIDs []string) error
	// Unfinished returns those of some submissions that have a delivery which has not
	// arrived.
	Unfinished(ctx context.Context, submissionIDs []string) ([]string, error)
	// Remove removes all deliveries of submissions that are being erased.
	Remove(ctx context.Context, submissionIDs []string) error
}

// Load is how busy a driver is.
type Load struct {
	Waiting int // requests waiting to be written
	Busy    int // connections in use
	Idle    int // connections open and not in use
}
