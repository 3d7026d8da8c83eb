package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"

	"siteapi/integrations/lead"
	"siteapi/integrations/panics"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
)

// worker runs the jobs of deliveries.
type worker struct {
	river.WorkerDefaults[args]
	*Queue
	panics panics.Log
}

// Work attempts one delivery, or postpones it while its target is paused. It stores the
// result before the job ends. If the process is killed earlier, River rescues the job,
// and the delivery is attempted again.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	t := w.targets[lead.Target(job.Queue)]
	if err := t.limiter.Wait(ctx); err != nil {
		return river.JobSnooze(time.Second)
	}

	l, d, err := w.Store.BeginAttempt(ctx, job.Args.Lead, t.Name, job.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil // there is nothing to do for this job
	case errors.Is(err, store.ErrUnderWay):
		return river.JobSnooze(time.Second)
	case err != nil:
		return fmt.Errorf("beginning the delivery of %s to target %s: %w",
			lead.Reference(job.Args.Lead), t.Name, err)
	}

	w.attempt(ctx, t, &l, &d)

	// The result is stored even if the process is stopping.
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := w.Store.EndAttempt(storing, d); err != nil {
		return fmt.Errorf("storing the result of delivery %d: %w", d.ID, err)
	}
	if d.State.Ended() {
		return nil
	}
	return river.JobSnooze(max(0, time.Until(d.NextAt)))
}

// Timeout bounds an attempt, including its wait for the target's rate limit.
func (w *worker) Timeout(job *river.Job[args]) time.Duration {
	return lead.Target(job.Queue).AttemptTime() - resultTime
}

// NextRetry returns the time of the next run of a job whose process was killed or whose
// database call failed. All other unfinished jobs are snoozed.
func (w *worker) NextRetry(*river.Job[args]) time.Time { return time.Now().Add(time.Second) }

// attempt sends a lead and records the outcome in its delivery, or postpones the delivery
// if its target is paused. A delivery that is due immediately ignores the pause.
func (w *worker) attempt(ctx context.Context, t *target, l *lead.Lead, d *lead.Delivery) {
	immediate := d.NextAt.IsZero()
	if p := t.paused(); time.Now().Before(p.until) && !immediate {
		w.postpone(d, p)
		return
	}
	if wait := w.leaveTo(ctx, t.Name); wait > 0 {
		w.postpone(d, targetPause{until: time.Now().Add(wait), reason: leftReason})
		return
	}

	began := time.Now()
	try := newTry(w.Store, l, *d)
	err := w.send(ctx, t, try)
	d.Records = try.delivery.Records
	outcome := outcomeOf(ctx, err)
	w.settle(t, d, outcome, err)
	if outcome == OutcomeDelivered {
		t.resume(began)
	}
	w.Observe(t.Name, outcome)
	w.log(t, d, outcome, err, time.Since(began))
}

// errPanic is the error of a [Send] that panicked.
var errPanic = errors.New("panic")

// send calls the target's [Send] and returns errPanic if it panics.
func (w *worker) send(ctx context.Context, t *target, try *Try) (err error) {
	defer func() {
		if recover() != nil { // The value may contain the lead's data.
			err = errPanic
			w.Log.Error().Str("target", string(t.Name)).Str("panic", w.panics.Describe("a value")).
				Msg("delivery panicked")
		}
	}()
	if try.Event() == lead.Created && len(t.Events) > 0 {
		if err := w.Store.NoteAnnounced(ctx, try.Lead); err != nil {
			return err
		}
	}
	return w.handlers.Send[t.Name](ctx, try)
}

// settle records the outcome of an attempt in its delivery, and pauses the target if the
// error requires it. A best-effort delivery, which does not affect its lead, never fails:
// it ends as not sent.
func (w *worker) settle(t *target, d *lead.Delivery, outcome Outcome, err error) {
	d.Paused, d.Code = "", ""
	now, reason := time.Now().UTC(), describe(err)
	failed := func() {
		d.Errors = append(d.Errors, lead.Attempt{Number: d.Attempts, At: now, Error: reason})
		d.Errors = d.Errors[max(0, len(d.Errors)-maxErrors):]
	}

	switch outcome {
	case OutcomeDelivered:
		d.State, d.FinishedAt = lead.Delivered, now
		return
	case OutcomeUnconfirmed:
		d.State, d.FinishedAt, d.Code = lead.Unconfirmed, now, lead.MailUnconfirmed
		return
	case OutcomeInterrupted:
		d.Attempts--
		return
	case OutcomeNotSent:
		unsent, _ := errors.AsType[*UnsentError](err)
		d.State, d.FinishedAt, d.Code = lead.NotSent, now, unsent.Code
		if unsent.Err != nil {
			failed()
		}
		return
	case OutcomePostponed:
		unsent, _ := errors.AsType[*UnsentError](err)
		if !unsent.Tried {
			d.Attempts--
		}
		d.NextAt, d.DueAt, d.Code = unsent.Until, unsent.Until, unsent.Code
		return
	}

	if wait := w.pauseAfter(err); wait > 0 {
		w.postpone(d, t.extend(targetPause{now, now.Add(wait), reason}))
		return
	}

	failed()
	rejected := outcome == OutcomeRejected
	switch {
	case !rejected && d.Attempts < d.MaxAttempts:
		d.State, d.NextAt = lead.Retrying, now.Add(w.backoff(d.Attempts))
	case !t.Name.BestEffort():
		d.State, d.FinishedAt = lead.Failed, now
	case rejected:
		d.State, d.FinishedAt, d.Code = lead.NotSent, now, lead.MailFailed
	default:
		d.State, d.FinishedAt, d.Code = lead.NotSent, now, lead.MailRefused
	}
}

// maxErrors is the maximum number of failed attempts stored for a delivery.
const maxErrors = 20

// backoff returns the wait before the next attempt, after a number of attempts.
func (q *Queue) backoff(attempts int) time.Duration {
	wait := min(time.Second<<min(max(attempts-1, 0), 20), q.RetryMax)
	return wait - jitter(wait/5)
}

// jitter returns a random fraction of a duration.
func jitter(d time.Duration) time.Duration { return time.Duration(rand.Float64() * float64(d)) }

// limitPause is the pause after a rate limit if neither the target nor its driver sets
// its length.
const limitPause = 10 * time.Second

// pauseAfter returns how long to pause a target after an error: the time that the target
// requested, else the one that its driver sets, else limitPause if the error is a rate
// limit. A rejected delivery causes no pause.
func (q *Queue) pauseAfter(err error) time.Duration {
	e, ok := errors.AsType[*upstream.Error](err)
	switch {
	case !ok || e.Kind == upstream.Rejected:
		return 0
	case e.RetryAfter > 0:
		return e.RetryAfter
	case e.Kind == upstream.Limited:
		return min(cmp.Or(e.Pause, limitPause), q.RetryMax)
	}
	return min(e.Pause, q.RetryMax)
}

// postpone delays a delivery until the end of a pause, without counting the attempt. The
// delay is at most about RetryMax, since a long pause may end early.
func (w *worker) postpone(d *lead.Delivery, p targetPause) {
	wait := min(time.Until(p.until), w.RetryMax)
	wait += jitter(min(wait/5, 30*time.Second))
	d.Attempts--
	d.NextAt, d.Paused = time.Now().UTC().Add(wait), p.reason
}

// outcomeOf returns the outcome of an attempt.
func outcomeOf(ctx context.Context, err error) Outcome {
	if err == nil {
		return OutcomeDelivered
	}
	if errors.Is(err, lead.ErrUnconfirmed) {
		return OutcomeUnconfirmed
	}
	if unsent, ok := errors.AsType[*UnsentError](err); ok {
		if unsent.Until.IsZero() {
			return OutcomeNotSent
		}
		return OutcomePostponed
	}

	e, ok := errors.AsType[*upstream.Error](err)
	rejected := ok && e.Kind == upstream.Rejected
	switch {
	case errors.Is(ctx.Err(), context.Canceled) && !rejected:
		return OutcomeInterrupted
	case ok:
		return Outcome(e.Kind)
	}
	return OutcomeUnexpected
}

// describe returns the message of an error for storage and logs. Those of known errors
// contain no personal data; any other error is described by its type only.
func describe(err error) string {
	if e, ok := errors.AsType[*upstream.Error](err); ok {
		return upstream.Redact(e.Error())
	}
	if e, ok := errors.AsType[*UnsentError](err); ok {
		return e.Error()
	}
	for _, known := range []error{
		context.DeadlineExceeded, store.ErrUnavailable, lead.ErrUnconfirmed, errPanic,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprintf("unexpected error of type %T", err)
}

// log logs each attempt with the id of the delivery, since the id of the lead would give
// access to its PDF. A target that becomes unavailable is logged as one warning, and its
// recovery as one info line. Further attempts that find it unavailable are logged at
// debug level.
func (w *worker) log(t *target, d *lead.Delivery, outcome Outcome, err error, took time.Duration) {
	line, message := w.Log.Debug(), "delivered"
	unavailable := outcome == Outcome(upstream.Unavailable)
	switch {
	case outcome == OutcomeDelivered:
		if t.unavailable.Swap(false) {
			line, message = w.Log.Info(), "delivered, target available again"
		}
	case d.State == lead.Failed:
		line, message = w.Log.Error(), "delivery failed"
	case d.State == lead.NotSent:
		line, message = w.Log.Info(), "mail not sent"
	case d.State == lead.Unconfirmed:
		line, message = w.Log.Warn(), "mail sent, but not confirmed"
	case unavailable && t.unavailable.Swap(true):
		message = "delivery will be retried"
	case unavailable:
		line, message = w.Log.Warn(), "target unavailable, its deliveries will be retried: "+
			"`siteapi deliveries retry --all` retries them at once"
	default:
		line, message = w.Log.Warn(), "delivery will be retried"
	}

	if err != nil {
		line.Str("reason", describe(err))
	}
	line.Str("target", string(d.Target)).
		Int64("delivery", d.ID).
		Int("attempts", d.Attempts).
		Str("outcome", string(outcome)).
		Dur("took_ms", took).
		Msg(message)
}
