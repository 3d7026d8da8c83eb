package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"siteapi/integrations/delivery"
)

// worker tries deliveries on River's behalf.
type worker struct {
	river.WorkerDefaults[args]
	*core
	mu   sync.Mutex
	next map[int64]time.Time // when a job that just failed is due again
}

// Timeout bounds a try from outside; try ends by itself before.
func (w *worker) Timeout(*river.Job[args]) time.Duration { return w.Timing.tryTimeout() }

// NextRetry says when a failed job is due again: what Work decided on, else the back-off.
func (w *worker) NextRetry(job *river.Job[args]) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.next[job.ID]
	delete(w.next, job.ID)
	if !ok {
		at = time.Now().Add(w.backoff(job.Attempt))
	}
	return at
}

// Work tries one delivery, or holds it while its target isn't being tried.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	defer w.grips.begin(job.JobRow)()
	ln, ok := w.lanes[delivery.Target(job.Queue)]
	if !ok {
		return fmt.Errorf("no sender for target %q", job.Queue)
	}
	m, err := metaOf(job.JobRow)
	if err != nil {
		return err
	}
	if d, reason, wait := ln.circuit.wait(w.Now()); wait && !m.Forced {
		return w.hold(ctx, d, reason, m)
	}
	if err := ln.wait(ctx); err != nil {
		return fmt.Errorf("waiting for the target's rate: %w", err)
	}
	p := ln.circuit.enter(w.Now(), m.Forced, w.Timing.tryTimeout())
	if p == passNone {
		d, reason, _ := ln.circuit.wait(w.Now())
		return w.hold(ctx, d, reason, m)
	}

	w.Observe(delivery.Event{Kind: delivery.TryStarted, Target: ln.target, Delivery: job.ID, Attempt: job.Attempt})
	began := w.Now()
	r := w.try(ctx, ln, job.Args.Submission)
	now := w.Now()
	asked := min(r.asked, w.Timing.AskedMax)
	w.shifted(ln, now, ln.circuit.leave(now, p, r.verdict(), asked, r.text), r.text)
	err = w.settle(ctx, job, m, r, asked)
	final := r.outcome == delivery.OutcomeDelivered || r.outcome == delivery.OutcomeRejected || r.gone ||
		(!isPostponed(err) && r.outcome != delivery.OutcomeInterrupted && job.Attempt >= job.MaxAttempts)
	e := delivery.Event{
		Kind: delivery.TryFinished, Target: ln.target, Delivery: job.ID, Attempt: job.Attempt,
		Outcome: r.outcome, Final: final, Duration: now.Sub(began), Age: now.Sub(job.CreatedAt),
	}
	w.Observe(e)
	w.logTry(e, r.text)
	return err
}

// hold puts a delivery off until some time after its target's next probe. It is
// released at once when the target is reached, so the wait may be long; it only
// matters if this process is not there any more by then.
func (w *worker) hold(ctx context.Context, d time.Duration, reason string, m meta) error {
	if err := river.MetadataSet(ctx, metaHeld, reason); err != nil {
		return fmt.Errorf("noting why a delivery waits: %w", err)
	}
	d += w.jitter(w.Timing.Hold)
	// One that was brought forward to probe is not made later than it would have been.
	if m.Early != nil {
		d = min(d, max(time.Until(*m.Early), w.Timing.CircuitFirst))
	}
	return river.JobSnooze(d)
}

// settle turns a result into River's terms. A failed try counts as an attempt unless
// it came sooner than the back-off would have had it: deliveries are to be tried for
// days, however often a target asks for a second of patience or is probed.
func (w *worker) settle(ctx context.Context, job *river.Job[args], m meta, r result, asked time.Duration) error {
	if r.outcome == delivery.OutcomeInterrupted {
		// River makes the job available again if it sees the cancellation.
		return fmt.Errorf("stopped: %w", context.Canceled)
	}
	for _, key := range []string{metaHeld, metaForced, metaEarly} {
		if err := river.MetadataSet(ctx, key, nil); err != nil {
			return fmt.Errorf("clearing the notes of a delivery: %w", err)
		}
	}
	failure := errors.New(r.text)
	switch {
	case r.outcome == delivery.OutcomeDelivered:
		return nil
	case r.outcome == delivery.OutcomeRejected, r.gone:
		return river.JobCancel(failure)
	}
	pause := w.backoff(job.Attempt)
	if r.outcome == delivery.OutcomeRefused {
		pause = max(pause, w.jitter(w.Timing.RefusedPause))
	}
	if asked > 0 {
		// Jitter only adds: coming back too soon would be answered the same way.
		wish := asked + time.Duration(w.Rand()*float64(min(asked/5, time.Minute)))
		if asked < pause {
			return w.postpone(ctx, wish, r.text)
		}
		pause = wish
	}
	if m.Early != nil && job.Attempt > 1 {
		if left := time.Until(*m.Early); left > 0 {
			return w.postpone(ctx, left, r.text)
		}
	}
	w.mu.Lock()
	w.next[job.ID] = time.Now().Add(pause)
	w.mu.Unlock()
	return failure
}

// postpone repeats a try later without counting it as an attempt.
func (w *worker) postpone(ctx context.Context, d time.Duration, reason string) error {
	if err := river.MetadataSet(ctx, metaHeld, reason); err != nil {
		return fmt.Errorf("noting why a delivery waits: %w", err)
	}
	return river.JobSnooze(d)
}

func isPostponed(err error) bool {
	_, ok := errors.AsType[*river.JobSnoozeError](err)
	return ok
}

// logTry writes a line for each failed try. It names the delivery, not the submission,
// whose id opens its PDF.
func (w *worker) logTry(e delivery.Event, text string) {
	if e.Outcome == delivery.OutcomeDelivered {
		w.Log.Debug().Str("target", string(e.Target)).Int64("delivery", e.Delivery).
			Dur("took", e.Duration).Msg("delivered")
		return
	}
	line := w.Log.Warn()
	if e.Final {
		line = w.Log.Error()
	}
	line.Str("target", string(e.Target)).Int64("delivery", e.Delivery).Int("attempt", e.Attempt).
		Str("outcome", string(e.Outcome)).Bool("final", e.Final).Str("reason", text).Msg("delivery failed")
}
