package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Try is one attempt to deliver a lead.
type Try struct {
	*lead.Lead
	HandOvers
	delivery lead.Delivery
}

// Keep stores with the delivery which records of the CRM it has made or found.
func (t *Try) Keep(found lead.Records) {
	known := &t.delivery.Records
	known.Contact, known.Deal = cmp.Or(found.Contact, known.Contact), cmp.Or(found.Deal, known.Deal)
}

func newTry(s *store.Store, l *lead.Lead, d lead.Delivery) *Try {
	t := &Try{Lead: l, delivery: d}
	t.HandOvers = HandOvers{
		job:   d.Job,
		parts: d.HandedOver,
		save:  func(ctx context.Context) error { return s.NoteParts(ctx, t.delivery) },
	}
	return t
}

// Event returns what happened to the lead. An erased lead has only its id.
func (t *Try) Event() lead.Event { return t.delivery.Event }

// Detail returns the details of the event.
func (t *Try) Detail() lead.EventDetail { return t.delivery.Detail }

// At returns when the event happened.
func (t *Try) At() time.Time { return t.delivery.CreatedAt }

// Number distinguishes the delivery from all others of the same lead, target and event,
// including its own former sendings.
func (t *Try) Number() int64 { return t.delivery.Number + t.delivery.Sending }

// Sending returns how often the delivery was restarted, for example by an operator. It
// stays the same while the delivery is retried.
func (t *Try) Sending() int64 { return t.delivery.Sending }

// Arrived reports whether a part of the delivery has arrived, in this attempt or an
// earlier one.
func (t *Try) Arrived(part string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.delivery.Arrived, part)
}

// Arrive records that a part of the delivery has arrived, so that no later attempt
// repeats it, even if this process is killed. A part's name is a word without personal
// data.
func (t *Try) Arrive(ctx context.Context, part string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delivery.Arrived = append(t.delivery.Arrived, part)
	return t.save(context.WithoutCancel(ctx))
}

// HandOvers limits how often a mail is handed over, since its recipient would get each
// repetition. What was handed over without a response is stored, and survives a kill.
type HandOvers struct {
	job   int64
	mu    sync.Mutex // guards parts, and the parts of the delivery that arrived
	parts map[string]lead.HandOver
	save  func(ctx context.Context) error
}

// repeatAfter are the waits before a part is handed over for the first, second and third
// time.
var repeatAfter = []time.Duration{0, time.Hour, 6 * time.Hour}

// Send calls send, which calls handOver before the first byte that the target may accept.
// If the last response is missing, send returns [lead.ErrUnconfirmed], and Send an
// [*UnsentError] with the time of the repetition. After the last repetition it returns
// ErrUnconfirmed.
func (h *HandOvers) Send(ctx context.Context, part string, send func(handOver func() error) error) error {
	h.mu.Lock()
	before := h.parts[part]
	h.mu.Unlock()
	if err := h.wait(before); err != nil {
		return err
	}

	sent := lead.HandOver{Times: before.Times + 1, At: time.Now().UTC(), Job: h.job}
	handedOver := false
	err := send(func() error {
		handedOver = true
		return h.set(ctx, part, sent)
	})
	switch {
	case errors.Is(err, lead.ErrUnconfirmed):
		waits := h.wait(sent)
		if unsent, ok := errors.AsType[*UnsentError](waits); ok {
			unsent.Tried = true
		}
		return waits
	case err != nil && handedOver: // The target refused it. If this is not stored, the part only waits.
		_ = h.set(context.WithoutCancel(ctx), part, before)
	}
	return err
}

func (h *HandOvers) set(ctx context.Context, part string, o lead.HandOver) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parts[part] = o
	return h.save(ctx)
}

// wait returns an error if a part must not be handed over now, or not again. A new job,
// which an operator's retry inserts, does not wait for what an earlier one handed over.
func (h *HandOvers) wait(o lead.HandOver) error {
	if o.Times == len(repeatAfter) {
		return lead.ErrUnconfirmed
	}
	until := o.At.Add(repeatAfter[o.Times])
	if o.Job != h.job || time.Now().After(until) {
		return nil
	}
	return &UnsentError{Code: lead.MailUnconfirmed, Until: until}
}

// UnsentError is the decision of a [Send] not to deliver. Without a time, the delivery
// ends as [lead.NotSent]. With one, it waits until then without delaying others, and the
// attempt counts only if something was handed over.
type UnsentError struct {
	Code  lead.NoMailReason
	Until time.Time
	Err   error // the failure that led to it; nil: none
	Tried bool  // whether this attempt handed something over
}

// Error returns the reason.
func (e *UnsentError) Error() string { return string(e.Code) }

// Unwrap returns the failure.
func (e *UnsentError) Unwrap() error { return e.Err }
