// Package delivery is the contract of the queue that brings submissions to the CMS
// and the CRM. A delivery is created in the same transaction as its submission and
// tried until the target has taken it or has refused it for good. The queue works
// at least once; what is delivered is idempotent at the far end.
package delivery

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/quote"
)

// Errors of every queue.
var (
	// ErrUnderWay means another delivery of the same submission to the same target is
	// under way already.
	ErrUnderWay = errors.New("a delivery of this submission to this target is under way")
	// ErrUnknownTarget means there is no such target.
	ErrUnknownTarget = errors.New("unknown delivery target")
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

// States lists all states, in the order a delivery passes through them.
func States() []State { return []State{Pending, Running, Retrying, Delivered, Failed} }

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
	Attempts     int       // tries counted so far, the one under way included
	CreatedAt    time.Time //
	NextAt       time.Time // of the next try; zero where none is planned
	FinishedAt   time.Time // zero while it is under way
	Held         string    // redacted reason why it waits for its target; empty: it doesn't
	Errors       []Attempt // oldest first
}

// Send brings one submission to one target. Its error's kind decides what happens
// next: upstream.Rejected fails for good, upstream.Refused is tried again after a long
// pause, everything else with growing pauses or when the target said. It may be called
// again for a submission that the target has already.
type Send func(ctx context.Context, s *quote.Submission) error

// Filter narrows a listing. Zero fields don't narrow.
type Filter struct {
	ID           int64
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
	Oldest time.Time // creation of the oldest of them; zero for Delivered and where there are none
}

// Queue works deliveries off and lets an operator see and mend them.
type Queue interface {
	// Start begins to work deliveries off until Stop is called.
	Start(ctx context.Context) error
	// Stop lets what is being tried finish until ctx ends. What is left is done after the next start.
	Stop(ctx context.Context) error
	// List returns deliveries, oldest first.
	List(ctx context.Context, f Filter) ([]Delivery, error)
	// Retry makes one delivery due now, whatever its state was, even while its target is
	// not being tried otherwise. One that is being tried is left alone. It returns
	// store.ErrNotFound or ErrUnderWay.
	Retry(ctx context.Context, id int64) error
	// Resend creates a delivery of a stored submission anew unless one is under way. It
	// returns store.ErrNotFound or ErrUnknownTarget.
	Resend(ctx context.Context, submissionID string, target Target) error
	// Withdraw removes the deliveries of a submission, in whatever state, and returns their
	// number. Those that are being tried can't be removed: they end with that try, which is
	// given up, and are counted apart.
	Withdraw(ctx context.Context, submissionID string) (removed, running int, err error)
	// Counts returns the numbers of deliveries by target and state, in the order of
	// Targets and States; combinations without any are there too.
	Counts(ctx context.Context) ([]Count, error)
}
