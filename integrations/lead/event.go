package lead

import "slices"

// Event is something that happened to a lead, of which targets are notified.
type Event string

// The events. The store persists them.
const (
	Created           Event = "created" // it was accepted, or released from review
	Corrected         Event = "corrected"
	ConsentWithdrawn  Event = "consent_withdrawn"
	DeletionRequested Event = "deletion_requested"
	DeletionDeclined  Event = "deletion_declined" // only the visitor is notified, by mail
	OutcomeChanged    Event = "outcome"
	Erased            Event = "erased"
)

// Events lists all events, in the order in which they may happen.
func Events() []Event {
	return []Event{
		Created, Corrected, ConsentWithdrawn, DeletionRequested, DeletionDeclined, OutcomeChanged, Erased,
	}
}

// EventDetail describes an event: the purpose of a withdrawn consent, or the outcome, which is
// empty if it was cleared, with the amount of a won lead. It has nothing of the person, since
// it outlives the lead.
type EventDetail struct {
	Purpose  string       `json:"purpose,omitempty"`
	Outcome  OutcomeValue `json:"outcome,omitempty"`
	Amount   *float64     `json:"amount,omitempty"`
	Currency string       `json:"currency,omitempty"`
}

// Outliving lists the events that the webhook is notified of even if the lead has been
// erased in the meantime. Deliveries of others are removed with the lead.
func Outliving() []Event {
	return []Event{ConsentWithdrawn, DeletionRequested, OutcomeChanged, Erased}
}

// OutlivesLead reports whether the delivery stays when its lead is erased.
func (d *Delivery) OutlivesLead() bool {
	return d.Target == Webhook && slices.Contains(Outliving(), d.Event)
}
