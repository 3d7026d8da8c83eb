package lead

import (
	"cmp"
	"errors"
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

// BestEffort reports whether failures of a target are ignored: they do not change the
// lead's state or retention, or alert anyone.
func (t Target) BestEffort() bool { return t == VisitorMail }

// AttemptTime is the longest time of an attempt, including the storing of its result. An
// older attempt without a result is considered over, because its process must have died.
// Mail servers may scan a mail for minutes before they accept it.
func (t Target) AttemptTime() time.Duration {
	if t == VisitorMail || t == SalesMail {
		return 3 * time.Minute
	}
	return 45 * time.Second
}

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	Pending   DeliveryState = "pending"   // waiting for its first attempt
	Running   DeliveryState = "running"   // being attempted
	Retrying  DeliveryState = "retrying"  // failed at least once, waiting for the next attempt
	Delivered DeliveryState = "delivered" // accepted by the target
	NotSent   DeliveryState = "not_sent"  // a mail that will not be sent, with the reason
	Failed    DeliveryState = "failed"    // rejected or out of attempts; kept until an operator decides
	Dismissed DeliveryState = "dismissed" // failed, and ended by an operator, with the reason

	// Unconfirmed is the state of a mail that was sent as often as it may be repeated, always
	// without a response. It may have arrived.
	Unconfirmed DeliveryState = "unconfirmed"
)

// Ended reports whether the delivery is over. It is attempted again only if it is
// restarted, for example by an operator.
func (s DeliveryState) Ended() bool { return s == Failed || s.Settled() }

// Settled reports whether the delivery is over and needs no operator.
func (s DeliveryState) Settled() bool {
	return s == Delivered || s == NotSent || s == Unconfirmed || s == Dismissed
}

// Delivery is the delivery of one lead, or of an event that happened to it, to one target.
type Delivery struct {
	ID     int64         `json:"id"`
	LeadID string        `json:"submission"`
	Target Target        `json:"target"`
	Event  Event         `json:"event"`
	Detail EventDetail   `json:"-"`
	State  DeliveryState `json:"state"`

	// Job is the number of the queue's job for the delivery. Earlier jobs for the same
	// delivery do nothing.
	Job int64 `json:"-"`

	Attempts    int       `json:"attempts"` // attempts so far, including a running one
	MaxAttempts int       `json:"maxAttempts"`
	CreatedAt   time.Time `json:"createdAt"`
	NextAt      time.Time `json:"nextAt,omitzero"`     // time of the next attempt; zero: immediately
	FinishedAt  time.Time `json:"finishedAt,omitzero"` // time at which it ended

	// DueAt is the time from which it waits for its target: its creation, or the end of a
	// wait that is ours.
	DueAt time.Time `json:"-"`

	Code   NoMailReason `json:"code,omitempty"`   // why a mail was not sent, or waits
	Paused string       `json:"paused,omitempty"` // redacted error that pauses its target
	Errors []Attempt    `json:"errors"`           // the last failed attempts, oldest first
	Reason string       `json:"reason,omitempty"` // why an operator dismissed it

	// Number distinguishes the deliveries of several events of the same kind. It is 1 for
	// the first.
	Number int64 `json:"-"`

	// Sending is the number of times that the delivery was restarted, for example by an
	// operator. It stays the same while the delivery is retried. If there are several
	// events of the kind, it is so large that no two of them share Number + Sending.
	Sending int64 `json:"-"`

	// Arrived lists the parts that have arrived since the last restart, such as the
	// recipients of a mail. Their names contain no personal data.
	Arrived []string `json:"-"`

	// HandedOver has the parts that were handed over without a response. They may have
	// arrived.
	HandedOver map[string]HandOver `json:"-"`

	// Records are the records of the CRM that the delivery made or found.
	Records Records `json:"-"`

	// Recipient is the corrected address that an operator entered; empty: the lead's.
	Recipient string `json:"-"`
}

// Records are a lead's records in the CRM. Those that are not known are empty.
type Records struct {
	Contact Record `json:"contact,omitzero"`
	Deal    Record `json:"deal,omitzero"`
}

// Record is a contact or a deal in the CRM.
type Record struct {
	ID  string `json:"id"`            // the CRM's; without personal data
	URL string `json:"url,omitempty"` // its page for people; empty: not known
}

// Records returns the lead's records in the CRM, as far as its deliveries know them.
func (l *Lead) Records() Records {
	for _, d := range l.Deliveries {
		if d.Target == CRM {
			return d.Records
		}
	}
	return Records{}
}

// NoMailReason is the code of the reason why a mail is not sent or waits, as in the API.
type NoMailReason string

// The reasons.
const (
	MailInReview     NoMailReason = "IN_REVIEW" // of the lead
	MailLeadRejected NoMailReason = "LEAD_REJECTED"
	NoMailServer     NoMailReason = "NO_MAIL_SERVER"
	VisitorMailOff   NoMailReason = "VISITOR_MAIL_OFF"
	TestAddress      NoMailReason = "TEST_ADDRESS"
	NoMailbox        NoMailReason = "NO_MAILBOX"

	// Limits on mails to visitors. Over NetworkLimit or ServiceLimit a mail waits, unless
	// too many mails of its network already do: that is WaitingLimit.
	AddressLimit NoMailReason = "ADDRESS_LIMIT"
	NetworkLimit NoMailReason = "NETWORK_LIMIT"
	WaitingLimit NoMailReason = "WAITING_LIMIT"
	ServiceLimit NoMailReason = "SERVICE_LIMIT"

	// MailUnconfirmed is the reason of a mail that was handed over and may have arrived.
	MailUnconfirmed NoMailReason = "UNCONFIRMED"

	// MailRefused and MailFailed are the reasons of a mail that the mail server did not
	// accept. Only the cause of the first one may be on our side or an outage.
	MailRefused NoMailReason = "REFUSED"
	MailFailed  NoMailReason = "FAILED"
)

// reasonWords describes the reasons of deliveries. Those that are missing here have a
// message of the mail server.
var reasonWords = map[NoMailReason]string{
	NoMailServer:    "SMTP_URL was not set.",
	VisitorMailOff:  "VISITOR_MAIL was off.",
	TestAddress:     "The address is in a domain for tests and examples (RFC 2606).",
	NoMailbox:       "There is no such mailbox.",
	AddressLimit:    "3 mails were already sent to this address in 24 hours.",
	NetworkLimit:    "20 mails were sent to this network within an hour.",
	WaitingLimit:    "50 mails to this network are already waiting.",
	ServiceLimit:    "The hourly limit VISITOR_MAILS_PER_HOUR was reached.",
	MailUnconfirmed: "It was handed over but not confirmed, so it may have arrived.",
}

// Words describes a reason for people. They are empty if the mail server has a message.
func (r NoMailReason) Words() string { return reasonWords[r] }

// ErrUnconfirmed is the cause of an error if everything was handed over and no response
// came, to a system that would not recognize a repetition.
var ErrUnconfirmed = errors.New("it was handed over but not confirmed, so it may have arrived")

// HandOver counts how often a part of a delivery was handed over without a response.
type HandOver struct {
	Times int       `json:"times"`
	At    time.Time `json:"at"`  // the last time
	Job   int64     `json:"job"` // the job that handed it over last
}

// Attempt is a failed attempt at a delivery.
type Attempt struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	Error  string    `json:"error"` // redacted
}

// Why describes why the delivery has not arrived: the reason why a mail is not sent or
// waits, the pause of its target, its dismissal or its last failure. It is empty if the
// delivery has arrived or no reason is known yet.
func (d *Delivery) Why() string {
	if d.State == Delivered {
		return ""
	}

	failure := ""
	if n := len(d.Errors); n > 0 {
		failure = d.Errors[n-1].Error
	}
	return cmp.Or(d.Code.Words(), d.Paused, d.Reason, failure)
}
