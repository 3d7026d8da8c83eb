// Package delivery is the contract of the queue that brings submissions to the CMS
// and the CRM. A delivery is created in the same transaction as its submission and
// tried until the target has taken it or has refused it for good. The queue works
// at least once; what is delivered is idempotent at the far end.
package delivery

import (
	"context"
	"time"

	"siteapi/integrations/quote"
)

// Target names a system that submissions are delivered to.
type Target string

// The targets of every submission.
const (
	CMS Target = "cms"
	CRM Target = "crm"
)

// Targets lists all targets, in the order they are shown.
func Targets() []Target { return []Target{CMS, CRM} }

// State is where a delivery stands.
type State string

// The states of a delivery.
const (
	Pending   State = "pending"   // waits for its first try
	Running   State = "running"   // is being tried
	Retrying  State = "retrying"  // failed and will be tried again
	Delivered State = "delivered" // the target has it
	Failed    State = "failed"    // refused for good; kept until someone retries it by hand
)

// Attempt is one failed try.
type Attempt struct {
	Number int
	At     time.Time
	Error  string // redacted
}

// Delivery is one submission on its way to one target.
type Delivery struct {
	ID           int64
	SubmissionID string
	Target       Target
	State        State
	Attempts     int       // tries made so far
	CreatedAt    time.Time //
	NextAt       time.Time // of the next try; zero where none is planned
	FinishedAt   time.Time // zero while it is under way
	Errors       []Attempt // oldest first
}

// Send brings one submission to one target. Its error's [upstream.Kind] decides what
// happens next: Rejected fails for good, Refused and the others are tried again.
type Send func(ctx context.Context, s *quote.Submission) error

// Filter narrows a listing. Zero fields don't narrow.
type Filter struct {
	States       []State
	Target       Target
	SubmissionID string
	Limit        int // 0: all
}

// Count is how many deliveries of a target are in a state.
type Count struct {
	Target Target
	State  State
	Number int64
	Oldest time.Time // creation of the oldest of them
}

// Queue works deliveries off and lets an operator see and mend them.
type Queue interface {
	// Start begins to work deliveries off until Stop is called.
	Start(ctx context.Context) error
	// Stop lets what is being tried finish until ctx ends. What is left is done after the next start.
	Stop(ctx context.Context) error
	// List returns deliveries, oldest first.
	List(ctx context.Context, f Filter) ([]Delivery, error)
	// Retry makes one delivery due now, whatever its state was, or returns store.ErrNotFound.
	Retry(ctx context.Context, id int64) error
	// Resend creates a delivery of a stored submission anew unless one is under way.
	Resend(ctx context.Context, submissionID string, target Target) error
	// Counts returns the numbers of deliveries by target and state.
	Counts(ctx context.Context) ([]Count, error)
}
