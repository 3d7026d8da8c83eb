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

// Work attempts one delivery, or postpones it while its target is paused. What became of it
// is stored before River is told. If the process is killed before that, River rescues the
// job, and the attempt is repeated.
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
		return fmt.Errorf("beginning to deliver %s to the %s: %w", lead.Reference(job.Args.Lead), t.Name, err)
	}

	interrupted := w.attempt(ctx, t, &l, &d)
	if err := w.end(ctx, d); err != nil {
		return fmt.Errorf("storing what became of delivery %d: %w", d.ID, err)
	}
	switch {
	case d.State.Ended():
		return nil
	case interrupted:
		return river.JobSnooze(0)
	}
	return river.JobSnooze(max(0, time.Until(d.NextAt)))
}

// end stores what became of an attempt, also if the process is stopping.
func (w *worker) end(ctx context.Context, d lead.Delivery) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return w.Store.EndAttempt(ctx, d)
}

// NextRetry returns the time of the next try of a job whose process was killed, or that
// could not store what became of it. All others are snoozed.
func (w *worker) NextRetry(*river.Job[args]) time.Time { return time.Now().Add(time.Second) }

// attempt sends a lead unless its target is paused, and records the outcome in its
// delivery. It reports whether the process stopped meanwhile.
func (w *worker) attempt(ctx context.Context, t *target, l *lead.Lead, d *lead.Delivery) (interrupted bool) {
	began, atOnce := time.Now(), d.NextAt.IsZero()
	if left, reason := t.paused(began); left > 0 && !atOnce {
		w.postpone(d, left, reason)
		return false
	}

	try := &Try{Lead: l, CreatedAt: d.CreatedAt, store: w.Store, delivery: *d}
	err := w.send(ctx, t, try)
	outcome := w.settle(t, d, outcomeOf(ctx, err), err)

	if outcome == OutcomeDelivered {
		t.resume(began)
	}
	if w.Observe != nil {
		w.Observe(t.Name, outcome)
	}
	w.log(t, d, outcome, err, began)
	return outcome == OutcomeInterrupted
}

// send sends a lead.
func (w *worker) send(ctx context.Context, t *target, try *Try) (err error) {
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
	return w.handlers.Send[t.Name](ctx, try)
}

// settle records the outcome of an attempt in its delivery, and pauses the target if it
// asked for that. A delivery that decides nothing about its lead never fails: it is not
// sent.
func (w *worker) settle(t *target, d *lead.Delivery, outcome Outcome, err error) Outcome {
	d.Paused = ""
	now := time.Now().UTC()
	notSent, isNotSent := errors.AsType[*NotSentError](err)
	postponed, isPostponed := errors.AsType[*PostponedError](err)

	switch {
	case outcome == OutcomeDelivered:
		d.State, d.FinishedAt = lead.Delivered, now
		return outcome
	case isNotSent:
		d.State, d.FinishedAt, d.Reason = lead.NotSent, now, notSent.Reason
		return OutcomeNotSent
	case outcome == OutcomeInterrupted:
		d.Attempts--
		return outcome
	case isPostponed:
		d.Attempts--
		d.NextAt, d.Paused = postponed.Until, postponed.Reason
		return outcome
	}

	if pause := w.pauseAfter(err); pause > 0 {
		if t.pause(now, now.Add(pause), describe(err)) {
			w.Log.Warn().
				Str("target", string(t.Name)).
				Dur("for_ms", pause).
				Str("reason", describe(err)).
				Msg("deliveries to this target are paused")
		}
		left, reason := t.paused(now)
		w.postpone(d, left, reason)
		return outcome
	}

	ended := outcome == OutcomeRejected || d.Attempts >= d.MaxAttempts
	if ended && t.Name.BestEffort() {
		d.State, d.FinishedAt, d.Reason = lead.NotSent, now, describe(err)
		return OutcomeNotSent
	}
	d.Errors = append(d.Errors, lead.Attempt{Number: d.Attempts, At: now, Error: describe(err)})
	d.Errors = d.Errors[max(0, len(d.Errors)-errorsKept):]
	if ended {
		d.State, d.FinishedAt = lead.Failed, now
	} else {
		d.State, d.NextAt = lead.Retrying, now.Add(w.backoff(d.Attempts))
	}
	return outcome
}

// errorsKept is how many failed attempts of a delivery are listed.
const errorsKept = 20

// backoff returns how long a delivery waits after a number of attempts.
func (q *Queue) backoff(attempts int) time.Duration {
	wait := min(time.Second<<min(max(attempts-1, 0), 20), q.RetryMax)
	return wait - jitter(wait/5)
}

// jitter returns a random fraction of a duration.
func jitter(d time.Duration) time.Duration { return time.Duration(rand.Float64() * float64(d)) }

// limitPause is the pause after a limit whose length neither the target nor its driver knows.
const limitPause = 10 * time.Second

// pauseAfter returns how long a target is paused after an error: as long as the target
// asked for or, if it only said that a limit is reached or that it refuses the service,
// the pause that its driver assumes.
func (q *Queue) pauseAfter(err error) time.Duration {
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || e.Kind == upstream.Rejected {
		return 0
	}

	switch {
	case e.RetryAfter > 0 || e.Kind == upstream.Unavailable:
		return e.RetryAfter
	case e.Kind == upstream.Limited:
		return min(cmp.Or(e.Pause, limitPause), q.RetryMax)
	default:
		return min(e.Pause, q.RetryMax)
	}
}

// postpone has a delivery wait without counting the attempt. It looks at its target again
// after RetryMax, since a long pause may end early.
func (w *worker) postpone(d *lead.Delivery, left time.Duration, reason string) {
	left = min(left, w.RetryMax)
	left += jitter(min(left/5, 30*time.Second))
	d.Attempts--
	d.NextAt, d.Paused = time.Now().UTC().Add(left), reason
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
// the lead, because the latter gives access to its PDF. A target that is away is one warning,
// and a line when it is back.
func (w *worker) log(t *target, d *lead.Delivery, outcome Outcome, err error, began time.Time) {
	isAway, wasAway := outcome == Outcome(upstream.Unavailable), false
	if isAway || outcome == OutcomeDelivered {
		wasAway = t.away.Swap(isAway)
	}

	line, message := w.Log.Debug().Dur("took_ms", time.Since(began)), "delivered"
	switch {
	case outcome == OutcomeDelivered && wasAway:
		line, message = w.Log.Info(), "delivered: the target is back"
	case outcome == OutcomeDelivered:
	case outcome == OutcomeNotSent:
		line, message = w.Log.Info().Str("reason", describe(err)), "not sent"
	case outcome == OutcomePostponed:
		line, message = w.Log.Info().Str("reason", describe(err)), "delivery postponed"
	case d.State == lead.Failed:
		line, message = w.Log.Error().Str("reason", describe(err)), "delivery failed for good"
	case isAway && wasAway:
		line, message = w.Log.Debug().Str("reason", describe(err)), "delivery failed"
	case isAway:
		line, message = w.Log.Warn().Str("reason", describe(err)), "the target is away: its deliveries wait"
	default:
		line, message = w.Log.Warn().Str("reason", describe(err)), "delivery failed"
	}

	line.Str("target", string(d.Target)).
		Int64("delivery", d.ID).
		Int("attempts", d.Attempts).
		Str("outcome", string(outcome)).
		Msg(message)
}
