package store

import (
	"context"
	"time"
)

// Limits on mails to visitors.
const (
	MailsPerAddress = 3  // within [AddressWindow]
	MailsPerNetwork = 20 // within [MailWindow]
	MailsWaiting    = 50 // waiting mails of one network
	AddressWindow   = 24 * time.Hour
	MailWindow      = time.Hour
)

// MailLimit names a limit that a mail exceeds.
type MailLimit string

// The limits. A mail over NetworkLimit or ServiceLimit waits, unless too many mails of
// its network already do: that is WaitingLimit.
const (
	AddressLimit MailLimit = "address"
	NetworkLimit MailLimit = "network"
	WaitingLimit MailLimit = "waiting"
	ServiceLimit MailLimit = "service"
)

// MailClaim is a request to send a mail to a visitor.
type MailClaim struct {
	LeadID  string
	Sending int64  // number of the resend that an operator requested; 0: the first mail
	Address string // keyed hash
	PerHour int    // limit of the service; 0: neither the service nor networks are limited
	Now     time.Time
}

// Mails counts mails to visitors. Addresses and networks are stored as keyed hashes,
// which are removed with their leads and, at the latest, a day after they were last
// needed.
type Mails interface {
	// ClaimMail counts a mail, once however often it is claimed. If the mail exceeds a
	// limit, ClaimMail does not count it and returns the limit and, if the mail is to
	// wait, the time of its slot.
	ClaimMail(ctx context.Context, c MailClaim) (over MailLimit, until time.Time, err error)

	// HashKey returns the key of the hashes that must survive a change of the settings.
	// It was generated with the database.
	HashKey(ctx context.Context) ([]byte, error)

	// PruneMails removes the hashes last needed before a time.
	PruneMails(ctx context.Context, before time.Time) (int64, error)

	// MailNetworks returns the number of leads with a known network, and the number of
	// those networks.
	MailNetworks(ctx context.Context) (leads, networks int64, err error)
}
