package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/lead"
)

// Try is one attempt to deliver a lead.
type Try struct {
	*lead.Lead
	CreatedAt time.Time // when the delivery was created

	// save stores the progress at once, while the attempt goes on.
	save func(ctx context.Context, p progress) error

	mu       sync.Mutex
	progress progress
}

// Sending tells a delivery that an operator sends again from the one before. It is the
// same in all attempts of one sending.
func (t *Try) Sending() int64 { return t.progress.Sending }

// Arrived reports whether a part of the delivery has arrived, in this attempt or before.
func (t *Try) Arrived(part string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.progress.Arrived, part)
}

// Arrive notes that a part of the delivery has arrived, so that no later attempt repeats
// it, even if this process is killed now. A part's name contains no personal data.
func (t *Try) Arrive(ctx context.Context, part string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Arrived = append(t.progress.Arrived, part)
	return t.save(context.WithoutCancel(ctx), t.progress)
}

// progress is what a job's output says about its attempts so far. Empty fields are
// written too, since SQLite merges an output with the one before.
type progress struct {
	Sending int64    `json:"sending"`
	Arrived []string `json:"arrived"`
	Ended   bool     `json:"ended"`
	NotSent string   `json:"notSent"` // redacted reason
}

// progressOf returns the progress of a job, or the zero progress.
func progressOf(job *rivertype.JobRow) (p progress) {
	_ = json.Unmarshal(job.Output(), &p) // the queue's own object
	return p
}

// newTry begins an attempt. If the delivery had ended, a new sending begins.
func (q *Queue) newTry(job *rivertype.JobRow, l *lead.Lead) *Try {
	p := progressOf(job)
	if p.Ended {
		p = progress{Sending: p.Sending + 1}
	}
	save := func(ctx context.Context, p progress) error {
		_, err := q.client.JobUpdate(ctx, job.ID, &river.JobUpdateParams{Output: p})
		return err
	}
	return &Try{Lead: l, CreatedAt: job.CreatedAt.UTC(), save: save, progress: p}
}

// note stores the progress with the outcome of the attempt. If the delivery ends with it,
// the next attempt is one that an operator asks for.
func (t *Try) note(ctx context.Context, ended bool, notSent string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Ended, t.progress.NotSent = ended, notSent
	if err := river.RecordOutput(ctx, t.progress); err != nil {
		return fmt.Errorf("noting the progress of a delivery: %w", err)
	}
	return nil
}

// NotSentError ends a delivery as [NotSent].
type NotSentError struct{ Reason string } // free of personal data

// Error returns the reason.
func (e *NotSentError) Error() string { return e.Reason }

// PostponedError makes a delivery wait, and no other. The attempt does not count.
type PostponedError struct {
	Until  time.Time
	Reason string // free of personal data
}

// Error returns the reason.
func (e *PostponedError) Error() string { return e.Reason }

// notSent returns the reason why a delivery ends as [NotSent] with an error, if it does.
// A delivery that decides nothing about its lead never fails.
func (t *target) notSent(job *river.Job[args], outcome Outcome, err error) (string, bool) {
	if e, ok := errors.AsType[*NotSentError](err); ok {
		return e.Reason, true
	}
	last := outcome != OutcomeDelivered && outcome != OutcomeInterrupted && outcome != OutcomePostponed &&
		attemptsOf(job.JobRow) >= job.MaxAttempts
	if t.Name.BestEffort() && (outcome == OutcomeRejected || last) {
		return describe(err), true
	}
	return "", false
}
