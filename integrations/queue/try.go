package queue

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Try is one attempt to deliver a lead.
type Try struct {
	*lead.Lead
	CreatedAt time.Time // when the delivery was created

	store    *store.Store
	mu       sync.Mutex
	delivery lead.Delivery
}

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
	return t.store.NoteArrived(context.WithoutCancel(ctx), t.delivery)
}

// VisitorAddress returns the recipient of the mail to the visitor.
func (t *Try) VisitorAddress() string { return cmp.Or(t.delivery.Recipient, t.Contact.Email) }

// UnsentError is the decision of a [Send] not to deliver. Without a time, the delivery
// ends as [lead.NotSent]. With one, it waits until then without delaying others, and the
// attempt does not count.
type UnsentError struct {
	Reason string // free of personal data
	Until  time.Time
}

// Error returns the reason.
func (e *UnsentError) Error() string { return e.Reason }
