package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/riverqueue/river"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
)

// worker tries deliveries.
type worker struct {
	river.WorkerDefaults[args]
	*Queue
}

// Work attempts one delivery, or postpones it while its target is paused.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	t := w.targets[Target(job.Queue)]
	if err := t.limiter.Wait(ctx); err != nil {
		return fmt.Errorf("waiting for the target's rate: %w", err)
	}

	now := time.Now()
	if left, reason := t.paused(now); left > 0 && !broughtForward(job.JobRow) {
		return w.postpone(ctx, now, left, reason)
	}

	try, err := w.send(ctx, t, job)
	outcome := outcomeOf(ctx, err)
	reason, notSent := t.notSent(job, outcome, err)
	if notSent {
		outcome = OutcomeNotSent
	}
	if w.Observe != nil {
		w.Observe(t.Name, outcome)
	}
	w.log(t, job, outcome, err, now)
	if try != nil && t.Name.Mail() {
		if err := try.note(ctx, w.ends(job, outcome, err), reason); err != nil {
			return err
		}
	}
	if err := w.record(ctx, job, outcome, err); err != nil {
		return err
	}
	return w.settle(ctx, t, job, outcome, err, now)
}

// ends reports whether an attempt is the last one of its sending.
func (w *worker) ends(job *river.Job[args], outcome Outcome, err error) bool {
	switch outcome {
	case OutcomeDelivered, OutcomeNotSent, OutcomeRejected:
		return true
	case OutcomeInterrupted, OutcomePostponed:
		return false
	}
	return w.pauseAfter(err) == 0 && attemptsOf(job.JobRow) >= job.MaxAttempts
}

// record has the store record the outcome of an attempt, before River does. An attempt that
// does not count, or fails as the one before it, changes nothing.
func (w *worker) record(ctx context.Context, job *river.Job[args], outcome Outcome, err error) error {
	progress := lead.Retrying
	switch {
	case outcome == OutcomeDelivered, outcome == OutcomeNotSent:
		progress = lead.Ended
	case w.ends(job, outcome, err):
		progress = lead.Failed
	case outcome == OutcomeInterrupted, outcome == OutcomePostponed, w.pauseAfter(err) > 0,
		attemptsOf(job.JobRow) > 1:
		return nil
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return w.Records.SaveDelivery(ctx, store.Delivery{
		LeadID:   job.Args.Lead,
		Target:   job.Queue,
		Progress: progress,
	})
}

// NextRetry returns the time of the next try after one whose process ended before it could
// report, which is repeated at once, or that was interrupted.
func (w *worker) NextRetry(job *river.Job[args]) time.Time {
	now := time.Now()
	if job.AttemptedAt != nil && now.Sub(*job.AttemptedAt) >= RescueAfter {
		return now
	}
	return now.Add(w.backoff(attemptsOf(job.JobRow)))
}

// backoff returns how long a delivery waits after a number of attempts.
func (q *Queue) backoff(attempts int) time.Duration {
	wait := min(time.Second<<min(max(attempts-1, 0), 20), q.RetryMax)
	return wait - jitter(wait/5)
}

// jitter returns a random fraction of a duration.
func jitter(d time.Duration) time.Duration { return time.Duration(rand.Float64() * float64(d)) }

// send reads a lead and sends it, unless it was erased in the meantime: then there
// is no attempt.
func (w *worker) send(ctx context.Context, t *target, job *river.Job[args]) (try *Try, err error) {
	defer func() {
		if v := recover(); v != nil {
			// The value may quote what was sent, so only its type is kept.
			detail := fmt.Sprintf("panic with a value of type %T", v)
			err = &upstream.Error{
				System: string(t.Name),
				Op:     "delivering",
				Kind:   upstream.Unavailable,
				Detail: detail,
			}

			w.Log.Error().
				Str("target", string(t.Name)).
				Bytes("stack", debug.Stack()).
				Msg("a delivery panicked")
		}
	}()

	s, err := w.Load(ctx, job.Args.Lead)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil //nolint:nilnil // as described
	}
	if err != nil {
		return nil, fmt.Errorf("reading the submission: %w", err)
	}
	try = w.newTry(job.JobRow, &s)
	return try, t.Send(ctx, try)
}

// settle returns the value that tells River the outcome of an attempt, and pauses or
// resumes the target. began is when the attempt began.
func (w *worker) settle(
	ctx context.Context, t *target, job *river.Job[args], outcome Outcome, err error, began time.Time,
) error {
	switch outcome {
	case OutcomeDelivered:
		t.resume(began)
		return nil
	case OutcomeNotSent:
		return nil
	case OutcomeInterrupted:
		return fmt.Errorf("interrupted: %w", context.Canceled) // River makes it available again.
	case OutcomeRejected:
		return river.JobCancel(errors.New(describe(err)))
	}

	if e, ok := errors.AsType[*PostponedError](err); ok {
		now := time.Now()
		return w.postpone(ctx, now, max(e.Until.Sub(now), time.Second), e.Reason)
	}
	if d := w.pauseAfter(err); d > 0 {
		now := time.Now()
		if t.pause(now, now.Add(d), describe(err)) {
			w.Log.Warn().
				Str("target", string(t.Name)).
				Dur("for_ms", d).
				Str("reason", describe(err)).
				Msg("deliveries to this target are paused")
		}

		left, reason := t.paused(now)
		return w.postpone(ctx, now, left, reason)
	}
	return w.fail(ctx, job, err)
}

// fail ends a delivery that was tried often enough, or snoozes it until its next attempt:
// River would keep the errors of all attempts.
func (w *worker) fail(ctx context.Context, job *river.Job[args], err error) error {
	attempts, failed := attemptsOf(job.JobRow), failuresOf(job.JobRow)
	if attempts >= job.MaxAttempts {
		return river.JobCancel(errors.New(describe(err)))
	}

	failed.add(Attempt{attempts, time.Now().UTC(), describe(err)})
	if err := river.MetadataSet(ctx, failuresKey, failed); err != nil {
		return fmt.Errorf("noting a failed attempt: %w", err)
	}
	return river.JobSnooze(w.backoff(attempts))
}

// limitPause is the pause after a limit whose length neither the target nor its driver knows.
const limitPause = 10 * time.Second

// pauseAfter returns how long a target is paused after an error: as long as the target
// asked for or, if it only said that a limit is reached or that it refuses the service,
// the pause that its driver assumes.
func (w *worker) pauseAfter(err error) time.Duration {
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || e.Kind == upstream.Rejected {
		return 0
	}

	switch {
	case e.RetryAfter > 0 || e.Kind == upstream.Unavailable:
		return e.RetryAfter
	case e.Kind == upstream.Limited:
		return min(cmp.Or(e.Pause, limitPause), w.RetryMax)
	default:
		return min(e.Pause, w.RetryMax)
	}
}

// postpone snoozes a delivery until its target's pause is over, without counting the
// attempt. The delivery checks the target again after RetryMax, since a long pause may
// end early.
func (w *worker) postpone(ctx context.Context, now time.Time, left time.Duration, reason string) error {
	left = min(left, w.RetryMax)
	left += jitter(min(left/5, 30*time.Second))

	if err := river.MetadataSet(ctx, pauseKey, pauseNote{now.Add(left), reason}); err != nil {
		return fmt.Errorf("noting a pause: %w", err)
	}
	return river.JobSnooze(left)
}

// outcomeOf names the outcome of a try.
func outcomeOf(ctx context.Context, err error) Outcome {
	e, ok := errors.AsType[*upstream.Error](err)
	_, postponed := errors.AsType[*PostponedError](err)

	switch {
	case err == nil:
		return OutcomeDelivered
	case postponed:
		return OutcomePostponed
	case ok && e.Kind == upstream.Rejected:
		return OutcomeRejected
	case errors.Is(ctx.Err(), context.Canceled):
		return OutcomeInterrupted
	case ok:
		return Outcome(e.Kind)
	}
	return OutcomeUnexpected
}

// describe returns the text of an error for storage and logs. The text of an upstream
// error is free of personal data; any other error is described by its type only.
func describe(err error) string {
	if e, ok := errors.AsType[*upstream.Error](err); ok {
		return upstream.Redact(e.Error())
	}

	postponed, isPostponed := errors.AsType[*PostponedError](err)
	notSent, isNotSent := errors.AsType[*NotSentError](err)
	switch {
	case isPostponed:
		return postponed.Reason
	case isNotSent:
		return notSent.Reason
	}
	for _, known := range []error{context.DeadlineExceeded, store.ErrUnavailable} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprintf("unexpected error of type %T", err)
}

// log writes a line for each try. It contains the id of the delivery rather than that of
// the lead, because the latter gives access to its PDF.
func (w *worker) log(t *target, job *river.Job[args], outcome Outcome, err error, began time.Time) {
	line, message := w.Log.Debug().Dur("took_ms", time.Since(began)), "delivered"
	switch {
	case outcome == OutcomeDelivered:
	case outcome == OutcomeNotSent:
		line, message = w.Log.Info().Str("reason", describe(err)), "not sent"
	case outcome == OutcomePostponed:
		line, message = w.Log.Info().Str("reason", describe(err)), "delivery postponed"
	case w.ends(job, outcome, err):
		line, message = w.Log.Error().Str("reason", describe(err)), "delivery failed for good"
	default:
		line, message = w.Log.Warn().Str("reason", describe(err)), "delivery failed"
	}

	line.Str("target", string(t.Name)).
		Int64("delivery", job.ID).
		Int("attempt", attemptsOf(job.JobRow)).
		Str("outcome", string(outcome)).
		Msg(message)
}
