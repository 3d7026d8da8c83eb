package delivery

import "time"

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	TryStarted    EventKind = "try_started"
	TryFinished   EventKind = "try_finished"
	CircuitOpened EventKind = "circuit_opened" // the target is left alone for a while
	CircuitClosed EventKind = "circuit_closed" // the target takes deliveries again
)

// Outcome is what came of a try.
type Outcome string

// The outcomes of a try.
const (
	OutcomeDelivered   Outcome = "delivered"
	OutcomeUnavailable Outcome = "unavailable"
	OutcomeLimited     Outcome = "limited"
	OutcomeRefused     Outcome = "refused"
	OutcomeRejected    Outcome = "rejected"
	OutcomeTimeout     Outcome = "timeout"     // the Send did not return in time
	OutcomePanic       Outcome = "panic"       // the Send panicked
	OutcomeUnexpected  Outcome = "unexpected"  // an error that isn't an upstream.Error
	OutcomeUnloaded    Outcome = "unloaded"    // the submission could not be read: nothing was sent
	OutcomeInterrupted Outcome = "interrupted" // the queue was stopped meanwhile
)

// Event is told to an observer for metrics. It holds no personal data.
type Event struct {
	Kind     EventKind
	Target   Target
	Delivery int64         // 0 for circuits
	Attempt  int           // number of the try, from 1
	Outcome  Outcome       // of a finished try
	Final    bool          // the finished try was the last one: delivered or failed for good
	Duration time.Duration // of a finished try, or how long a circuit was or will be open
	Age      time.Duration // of the delivery when its try finished
	Reason   string        // why a circuit opened
}
