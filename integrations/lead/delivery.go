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
	Webhook Target = "webhook" // only if the site has a webhook

	// Mails, only if the site sends them.
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
	Pending   DeliveryState = "pending"   // waiting for its first attempt
	Running   DeliveryState = "running"   // being attempted
	Retrying  DeliveryState = "retrying"  // failed at least once, waiting for the next attempt
	Delivered DeliveryState = "delivered" // accepted by the target
	NotSent   DeliveryState = "not_sent"  // a mail that will not be sent, with the reason
	Failed    DeliveryState = "failed"    // rejected or out of attempts; kept until an operator retries it
)

// Ended reports whether the delivery is over. It is attempted again only if it is
// restarted, for example by an operator.
func (s DeliveryState) Ended() bool { return s == Delivered || s == NotSent || s == Failed }

// Delivery is the delivery of one lead to one target.
type Delivery struct {
	ID     int64         `json:"id"`
	LeadID string        `json:"submission"`
	Target Target        `json:"target"`
	State  DeliveryState `json:"state"`

	// Job is the number of the queue's job for the delivery. Earlier jobs for the same
	// delivery do nothing.
	Job int64 `json:"-"`

	Attempts    int       `json:"attempts"` // attempts so far, including a running one
	MaxAttempts int       `json:"maxAttempts"`
	CreatedAt   time.Time `json:"createdAt"`
	NextAt      time.Time `json:"nextAt,omitzero"`     // time of the next attempt; zero: immediately
	FinishedAt  time.Time `json:"finishedAt,omitzero"` // time at which it ended

	Paused string    `json:"paused,omitempty"` // redacted reason of its wait or of its target's pause
	Errors []Attempt `json:"errors"`           // the last failed attempts, oldest first
	Reason string    `json:"reason,omitempty"` // redacted reason why it was not sent

	// Sending is the number of times that the delivery was restarted, for example by an
	// operator. It stays the same while the delivery is retried.
	Sending int64 `json:"-"`

	// Arrived lists the parts that have arrived since the last restart, such as the
	// recipients of a mail. Their names contain no personal data.
	Arrived []string `json:"-"`

	// Recipient is the corrected address that an operator entered; empty: the lead's.
	Recipient string `json:"-"`
}

// Attempt is a failed attempt at a delivery.
type Attempt struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	Error  string    `json:"error"` // redacted
}

// Why returns the reason why the delivery has not arrived: its pause, the decision not to
// send it, or its last failure. It is empty if the delivery has arrived or no reason is
// known yet.
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
