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

	store    store.Attempts
	mu       sync.Mutex
	delivery lead.Delivery
}

// Sending tells a delivery that an operator sends again from the one before. It is the
// same in all attempts of one sending.
func (t *Try) Sending() int64 { return t.delivery.Sending }

// Arrived reports whether a part of the delivery has arrived, in this attempt or before.
func (t *Try) Arrived(part string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.delivery.Arrived, part)
}

// Arrive notes that a part of the delivery has arrived, so that no later attempt repeats
// it, even if this process is killed now. A part's name is a word without personal data.
func (t *Try) Arrive(ctx context.Context, part string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delivery.Arrived = append(t.delivery.Arrived, part)
	return t.store.NoteArrived(context.WithoutCancel(ctx), t.delivery)
}

// VisitorAddress returns where the mail to the visitor goes.
func (t *Try) VisitorAddress() string { return cmp.Or(t.delivery.Recipient, t.Contact.Email) }

// NotSentError ends a delivery as [lead.NotSent].
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
