package store

import (
	"context"
	"time"
)

// Limits of the mails to visitors.
const (
	MailsPerAddress = 3  // most within [AddressWindow]
	MailsPerNetwork = 20 // most within [MailWindow]
	MailsWaiting    = 50 // most of one network that wait
	AddressWindow   = 24 * time.Hour
	MailWindow      = time.Hour
)

// MailLimit is a limit that a mail is over.
type MailLimit string

// The limits. A mail over the one of its network or of the service waits, but for those that
// are too many.
const (
	AddressLimit MailLimit = "address"
	NetworkLimit MailLimit = "network"
	WaitingLimit MailLimit = "waiting"
	ServiceLimit MailLimit = "service"
)

// MailClaim asks to send a mail to a visitor.
type MailClaim struct {
	LeadID  string
	Sending int64  // 0, or the number of the repetition that an operator asked for
	Address string // keyed hash
	PerHour int    // most mails of the service; 0: it is not limited, and neither are networks
	Now     time.Time
}

// Mails counts the mails to visitors. Addresses and networks are keyed hashes, which are
// removed with their leads, and a day after they were last needed.
type Mails interface {
	// ClaimMail counts a mail; a mail that was counted before is not counted again. If it is
	// over a limit, ClaimMail counts nothing and returns the limit, and the time of the
	// mail's own slot if it is to wait for it.
	ClaimMail(ctx context.Context, c MailClaim) (over MailLimit, until time.Time, err error)

	// HashKey returns the key of the hashes that outlive a change of the settings. It was drawn
	// when the database was made.
	HashKey(ctx context.Context) ([]byte, error)

	// PruneMails removes the hashes that were last needed before a time.
	PruneMails(ctx context.Context, before time.Time) (int64, error)

	// MailNetworks returns the number of leads whose network is known, and the
	// number of their networks.
	MailNetworks(ctx context.Context) (leads, networks int64, err error)
}
