package store

import (
	"context"
	"errors"
	"time"
)

// Limits of the mails to visitors.
const (
	MailsPerAddress = 3  // most within [AddressWindow]
	MailsPerNetwork = 20 // most within [NetworkWindow]
	AddressWindow   = 24 * time.Hour
	NetworkWindow   = time.Hour
)

// ErrTooManyMails means that an address has got all mails that it may get for now.
var ErrTooManyMails = errors.New("too many mails to this address")

// MailClaim asks to send a mail to a visitor.
type MailClaim struct {
	LeadID  string
	Sending int64  // 0, or the number of the repetition that an operator asked for
	Address string // keyed hash
	Now     time.Time
}

// Mails counts the mails to visitors. Addresses and networks are keyed hashes, which are
// removed with their leads, and a day after they were last needed.
type Mails interface {
	// ClaimMail counts a mail; a mail that was counted before is not counted again. The
	// error of an address over its limit is ErrTooManyMails. If the network of the
	// lead is over its limit, ClaimMail counts nothing and returns when to ask
	// again.
	ClaimMail(ctx context.Context, c MailClaim) (until time.Time, err error)

	// HashKey returns the key of the hashes that outlive a change of the settings. It was drawn
	// when the database was made.
	HashKey(ctx context.Context) ([]byte, error)

	// PruneMails removes the hashes that were last needed before a time.
	PruneMails(ctx context.Context, before time.Time) (int64, error)

	// MailNetworks returns the number of leads whose network is known, and the
	// number of their networks.
	MailNetworks(ctx context.Context) (leads, networks int64, err error)
}
