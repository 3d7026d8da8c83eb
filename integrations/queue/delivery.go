package queue

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Errors of [Queue.Retry] and [Queue.Resend], besides store.ErrNotFound.
var (
	ErrUnderWay      = errors.New("a delivery of this submission to this target is under way")
	ErrUnknownTarget = errors.New("unknown delivery target")
)

// Target names a system that leads are delivered to, and its River queue.
type Target string

// The systems that leads can be delivered to.
const (
	CMS     Target = "cms"
	CRM     Target = "crm"
	Webhook Target = "webhook" // only if the site has one

	// The mails, only if the site sends some.
	VisitorMail Target = "visitor_mail"
	SalesMail   Target = "sales_mail"
)

// Targets lists all targets, in the order they are shown.
func Targets() []Target { return []Target{CMS, CRM, Webhook, VisitorMail, SalesMail} }

// Mail reports whether a target is one of the mails.
func (t Target) Mail() bool { return t == VisitorMail || t == SalesMail }

// BestEffort reports whether deliveries to a target decide nothing about their leads:
// neither the state nor the retention of a lead, nor whether an operator is alerted.
func (t Target) BestEffort() bool { return t == store.BestEffort }

// State is the state of a delivery.
type State string

// The states of a delivery.
const (
	Pending   State = "pending"   // waiting for its first try
	Running   State = "running"   // being tried
	Retrying  State = "retrying"  // failed so far, to be tried again
	Delivered State = "delivered" // accepted by the target
	NotSent   State = "not_sent"  // a visitor's mail that is given up, with the reason
	Failed    State = "failed"    // rejected, or tried too often; kept until an operator retries it
)

// States lists all states, in the order a delivery passes through them.
func States() []State { return []State{Pending, Running, Retrying, Delivered, NotSent, Failed} }

// Delivery is one lead on its way to one target, as operators see it.
type Delivery struct {
	ID     int64  `json:"id"`
	LeadID string `json:"submission"`
	Target Target `json:"target"`
	State  State  `json:"state"`

	Attempts    int       `json:"attempts"` // tries so far, including one that is running
	MaxAttempts int       `json:"maxAttempts"`
	CreatedAt   time.Time `json:"createdAt"`
	NextAt      time.Time `json:"nextAt,omitzero"`     // time of the next try
	FinishedAt  time.Time `json:"finishedAt,omitzero"` // time at which it was delivered or failed for good

	Paused string    `json:"paused,omitempty"` // redacted reason why its target is paused
	Errors []Attempt `json:"errors"`           // the last attemptsKept, oldest first
	Reason string    `json:"reason,omitempty"` // redacted reason why it was not sent
}

// Why returns why the delivery has not arrived: why its target is paused, why it was not
// sent, or its last failure. It is empty if there is no reason yet, or if it arrived.
func (d *Delivery) Why() string {
	if d.State == Delivered {
		return ""
	}

	failure := ""
	if n := len(d.Errors); n > 0 {
		failure = d.Errors[n-1].Error
	}
	return cmp.Or(d.Paused, d.Reason, failure)
}

// Attempt is one failed try.
type Attempt struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	Error  string    `json:"error"` // redacted
}

// args are the arguments of a delivery's job. River's tables contain no personal data.
type args struct {
	Lead string `json:"submission"`
}

// Kind is River's name for deliveries.
func (args) Kind() string { return "delivery" }

// insertOpts puts a job into its target's queue, which has at most one for each
// lead.
func (t *target) insertOpts() *river.InsertOpts {
	return &river.InsertOpts{
		Queue:       string(t.Name),
		MaxAttempts: t.MaxAttempts,
		UniqueOpts:  river.UniqueOpts{ByArgs: true, ByQueue: true, ByState: rivertype.JobStates()},
	}
}

// jobStates returns River's states for deliveries in the given states, or any state if
// none is given. River does not tell pending from retrying deliveries, nor those that
// were not sent from others that ended, so that each of them includes the others.
func jobStates(states ...State) []rivertype.JobState {
	var found []rivertype.JobState
	for _, s := range rivertype.JobStates() {
		state := stateOf(s, 0)
		waiting := state == Pending && slices.Contains(states, Retrying)
		ended := (state == Delivered || state == Failed) && slices.Contains(states, NotSent)
		if len(states) == 0 || waiting || ended || slices.Contains(states, state) {
			found = append(found, s)
		}
	}
	return found
}

// stateOf translates the state of a job that was tried a number of times.
func stateOf(state rivertype.JobState, attempts int) State {
	switch {
	case state == rivertype.JobStateRunning:
		return Running
	case state == rivertype.JobStateCompleted:
		return Delivered
	case state == rivertype.JobStateCancelled, state == rivertype.JobStateDiscarded:
		return Failed
	case attempts > 0:
		return Retrying
	}
	return Pending
}

// deliveryOf translates a job.
func deliveryOf(job *rivertype.JobRow) (Delivery, error) {
	var a args
	if err := json.Unmarshal(job.EncodedArgs, &a); err != nil {
		return Delivery{}, fmt.Errorf("reading the arguments of delivery %d: %w", job.ID, err)
	}

	d := Delivery{
		ID:          job.ID,
		LeadID:      a.Lead,
		Target:      Target(job.Queue),
		State:       stateOf(job.State, attemptsOf(job)),
		Attempts:    attemptsOf(job),
		MaxAttempts: max(job.MaxAttempts, attemptsOf(job)),
		CreatedAt:   job.CreatedAt.UTC(),
	}

	// River keeps the errors of attempts that were interrupted, that were the last, or that
	// an earlier release made.
	d.Errors = append([]Attempt{}, failuresOf(job).Last...)
	for _, e := range job.Errors {
		d.Errors = append(d.Errors, Attempt{
			e.Attempt,
			e.At.UTC(),
			strings.TrimPrefix(e.Error, "JobCancelError: "),
		})
	}
	slices.SortStableFunc(d.Errors, func(a, b Attempt) int { return a.At.Compare(b.At) })
	d.Errors = d.Errors[max(0, len(d.Errors)-attemptsKept):]

	if job.FinalizedAt != nil {
		d.FinishedAt = job.FinalizedAt.UTC()
		d.Reason = progressOf(job).NotSent
	}
	if d.Reason != "" || d.State == Failed && d.Target.BestEffort() {
		d.State = NotSent
	}

	if d.State == Pending || d.State == Retrying {
		d.NextAt = job.ScheduledAt.UTC()
		if note := noteOf(job); d.NextAt.After(time.Now()) && d.NextAt.Before(note.Until.Add(time.Second)) {
			d.Paused = note.Reason
		}
	}
	return d, nil
}

// attemptsKept is how many failed attempts of a delivery are listed.
const attemptsKept = 20

// failures are the failed attempts of a delivery that River does not count, since it would
// keep the error of each.
type failures struct {
	Count int       `json:"count"`
	Last  []Attempt `json:"last"`
}

// failuresKey is the name of the failures in a job's metadata.
const failuresKey = "failures"

func failuresOf(job *rivertype.JobRow) failures {
	var metadata struct {
		Failures failures `json:"failures"`
	}
	_ = json.Unmarshal(job.Metadata, &metadata) // River makes sure that it is an object.
	return metadata.Failures
}

// attemptsOf returns the number of attempts so far, including one that is running.
func attemptsOf(job *rivertype.JobRow) int { return job.Attempt + failuresOf(job).Count }

// add adds a failed attempt.
func (f *failures) add(a Attempt) {
	f.Count++
	f.Last = append(f.Last, a)
	f.Last = f.Last[max(0, len(f.Last)-attemptsKept):]
}

// progress returns what the store records of a delivery.
func (d *Delivery) progress() lead.Progress {
	switch d.State {
	case Failed:
		return lead.Failed
	case Pending:
		return lead.Pending
	case Running, Retrying:
		return lead.Retrying
	}
	return lead.Ended
}

// recorded returns a delivery as the store records it.
func (d *Delivery) recorded() store.Delivery {
	return store.Delivery{
		ID:        d.ID,
		LeadID:    d.LeadID,
		Target:    string(d.Target),
		Progress:  d.progress(),
		CreatedAt: d.CreatedAt,
	}
}

// pauseNote is kept in the metadata of a job that is waiting for the end of its target's
// pause.
type pauseNote struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"` // redacted
}

// broughtForward reports whether an operator retried a job that was waiting for the end
// of its target's pause. Such a job is due before the pause ends, by more than the
// rounding of the database.
func broughtForward(job *rivertype.JobRow) bool {
	return job.ScheduledAt.Before(noteOf(job).Until.Add(-10 * time.Millisecond))
}

// pauseKey is the name of the note in a job's metadata.
const pauseKey = "paused"

// noteOf returns the note of a job, or the zero note.
func noteOf(job *rivertype.JobRow) pauseNote {
	var metadata struct {
		Paused pauseNote `json:"paused"`
	}
	_ = json.Unmarshal(job.Metadata, &metadata) // River makes sure that it is an object.
	return metadata.Paused
}
