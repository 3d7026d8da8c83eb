package lead

import (
	"cmp"
	"time"
)

// Target names a system that leads are delivered to.
type Target string

// The systems that leads can be delivered to.
const (
	CMS     Target = "cms"
	CRM     Target = "crm"
	Webhook Target = "webhook" // only if the site has one

	// The mails, only if the site sends some.
	VisitorMail Target = "visitor_mail"
	SalesMail   Target = "sales_mail"
)

// Targets lists all targets, in the order they are shown.
func Targets() []Target { return []Target{CMS, CRM, Webhook, VisitorMail, SalesMail} }

// BestEffort reports whether deliveries to a target affect neither the state nor the
// retention of their leads and alert no operator.
func (t Target) BestEffort() bool { return t == VisitorMail }

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	Pending   DeliveryState = "pending"   // waiting for its first try
	Running   DeliveryState = "running"   // being tried
	Retrying  DeliveryState = "retrying"  // failed so far, to be tried again
	Delivered DeliveryState = "delivered" // accepted by the target
	NotSent   DeliveryState = "not_sent"  // a mail that is not sent, with the reason
	Failed    DeliveryState = "failed"    // rejected, or tried too often; kept until an operator retries it
)

// Ended reports whether there will be no further try, unless an operator asks for one.
func (s DeliveryState) Ended() bool { return s == Delivered || s == NotSent || s == Failed }

// Delivery is one lead on its way to one target.
type Delivery struct {
	ID     int64         `json:"id"`
	LeadID string        `json:"submission"`
	Target Target        `json:"target"`
	State  DeliveryState `json:"state"`

	// Job is the number of the queue's job for the delivery. Earlier jobs for the same
	// delivery do nothing.
	Job int64 `json:"-"`

	Attempts    int       `json:"attempts"` // tries so far, including one that is running
	MaxAttempts int       `json:"maxAttempts"`
	CreatedAt   time.Time `json:"createdAt"`
	NextAt      time.Time `json:"nextAt,omitzero"`     // time of the next try; zero: immediately
	FinishedAt  time.Time `json:"finishedAt,omitzero"` // time at which it ended

	Paused string    `json:"paused,omitempty"` // redacted reason why it waits, or its target is paused
	Errors []Attempt `json:"errors"`           // the last failed tries, oldest first
	Reason string    `json:"reason,omitempty"` // redacted reason why it was not sent

	// Sending is the number of times that an operator had the delivery sent again. It is
	// the same in all tries of one sending.
	Sending int64 `json:"-"`

	// Arrived lists the parts of the sending that have arrived, such as the recipients of a
	// mail. Their names contain no personal data.
	Arrived []string `json:"-"`

	// Recipient is the corrected address that an operator entered; empty: the lead's.
	Recipient string `json:"-"`
}

// Attempt is one failed try.
type Attempt struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	Error  string    `json:"error"` // redacted
}

// Why returns the reason why the delivery has not arrived: of its pause, of not being sent,
// or of its last failure. It is empty if the delivery arrived or has no reason yet.
func (d *Delivery) Why() string {
	if d.State == Delivered {
		return ""
	}

	failure := ""
	if n := len(d.Errors); n > 0 {
		failure = d.Errors[n-1].Error
	}
	return cmp.Or(d.Paused, d.Reason, failure)
}
