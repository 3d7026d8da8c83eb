package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"siteapi/integrations/delivery"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
)

// result is what came of one try.
type result struct {
	outcome delivery.Outcome
	text    string        // redacted error, empty if delivered
	asked   time.Duration // pause that the target asked for
	gone    bool          // the submission is not stored any more
}

// panicked is the error of a Send that panicked. It carries no value: that may quote
// what was sent.
type panicked struct{ of string }

func (p panicked) Error() string { return "panic with a value of type " + p.of }

// unloaded is the error of a submission that could not be read.
type unloaded struct{ err error }

func (u unloaded) Error() string { return "reading the submission: " + u.err.Error() }
func (u unloaded) Unwrap() error { return u.err }

// errNoReturn is the error of a Send that ignored the end of its context.
var errNoReturn = errors.New("the send did not return after its time was up")

// try reads a submission and sends it. It returns soon after ctx ends or the time is
// up even if the Send does not: that goroutine is then left behind, and what it does
// to the target still is harmless, since deliveries may be repeated.
func (c *core) try(ctx context.Context, ln *lane, submissionID string) result {
	timed, cancel := context.WithTimeout(ctx, c.Timing.SendTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.send(timed, ln, submissionID) }()

	var err error
	select {
	case err = <-done:
	case <-timed.Done():
		grace := time.NewTimer(c.Timing.Grace)
		defer grace.Stop()
		select {
		case err = <-done:
		case <-grace.C:
			err = errNoReturn
			c.Log.Error().Str("target", string(ln.target)).Msg("a send ignores its context and was left behind")
		}
	}
	return c.judge(ctx, timed, err)
}

func (c *core) send(ctx context.Context, ln *lane, submissionID string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			of := fmt.Sprintf("%T", v)
			err = panicked{of: of}
			c.Log.Error().Str("target", string(ln.target)).Str("type", of).
				Bytes("stack", debug.Stack()).Msg("a send panicked")
		}
	}()
	s, err := c.Load(ctx, submissionID)
	if err != nil {
		return unloaded{err}
	}
	return ln.send(ctx, &s)
}

// judge sorts an error of send. ctx is the context of the queue, timed that of the try.
func (c *core) judge(ctx, timed context.Context, err error) result {
	if err == nil {
		return result{outcome: delivery.OutcomeDelivered}
	}
	r := result{outcome: delivery.OutcomeUnexpected, text: redact(err)}
	remote, isUpstream := errors.AsType[*upstream.Error](err)
	missing, isUnloaded := errors.AsType[unloaded](err)
	panicErr, isPanic := errors.AsType[panicked](err)
	switch {
	case isUnloaded && errors.Is(missing, store.ErrNotFound):
		return result{outcome: delivery.OutcomeUnloaded, text: "the submission is not stored any more", gone: true}
	case isUpstream && remote.Kind == upstream.Rejected:
		r.outcome = delivery.OutcomeRejected
	case isUpstream && remote.Kind == upstream.Refused:
		r.outcome = delivery.OutcomeRefused
	case isPanic:
		r.outcome, r.text = delivery.OutcomePanic, panicErr.Error()
	case ctx.Err() != nil:
		// Whatever the error says, it came of the queue's being stopped.
		return result{outcome: delivery.OutcomeInterrupted, text: "interrupted"}
	case isUnloaded:
		r.outcome, r.text = delivery.OutcomeUnloaded, "reading the submission: "+redact(missing.err)
	case isUpstream:
		r.outcome, r.asked = delivery.OutcomeUnavailable, remote.RetryAfter
		if remote.Kind == upstream.Limited {
			r.outcome = delivery.OutcomeLimited
		}
	case timed.Err() != nil:
		r.outcome = delivery.OutcomeTimeout
		r.text = fmt.Sprintf("no answer within %v", c.Timing.SendTimeout)
		if errors.Is(err, errNoReturn) {
			r.text += ", and the send went on"
		}
	}
	return r
}

// verdict is what a result says about the target.
func (r result) verdict() verdict {
	switch r.outcome {
	case delivery.OutcomeDelivered, delivery.OutcomeRejected:
		return verdictReached
	case delivery.OutcomeRefused:
		return verdictRefused
	case delivery.OutcomeUnavailable, delivery.OutcomeLimited:
		if r.asked > 0 {
			return verdictAsked
		}
		return verdictFailed
	case delivery.OutcomeTimeout, delivery.OutcomeUnexpected:
		return verdictFailed
	}
	return verdictNone
}
