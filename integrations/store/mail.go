package store

import (
	"context"
	"fmt"
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

// MailLimit names a limit that a mail exceeds, as the API does.
type MailLimit string

// The limits. A mail over NetworkLimit or ServiceLimit waits, unless too many mails of
// its network already do: that is WaitingLimit.
const (
	AddressLimit MailLimit = "ADDRESS_LIMIT"
	NetworkLimit MailLimit = "NETWORK_LIMIT"
	WaitingLimit MailLimit = "WAITING_LIMIT"
	ServiceLimit MailLimit = "SERVICE_LIMIT"
)

// MailClaim is a request to send a mail to a visitor.
type MailClaim struct {
	LeadID  string
	Sending int64  // number of the resend that an operator requested; 0: the first mail
	Address string // keyed hash
	PerHour int    // limit of the service; 0: neither the service nor networks are limited
	Now     time.Time
}

// saveNetwork stores the network of a lead, if it is known, until its mail is sent.
func saveNetwork(ctx context.Context, tx Tx, n NewLead) error {
	if n.Network == "" {
		return nil
	}
	_, err := tx.Exec(ctx, `INSERT INTO visitor_mails (lead_id, sending, network, needed_at)
VALUES ($1, 0, $2, $3)`, n.Lead.ID, n.Network, n.Lead.SubmittedAt)
	return err
}

// ClaimMail counts a mail to a visitor, or returns the limit that it exceeds.
func (s *Store) ClaimMail(
	ctx context.Context, c MailClaim,
) (over MailLimit, until time.Time, err error) {
	err = s.write(ctx, "counting a mail", func(ctx context.Context, tx Tx) (err error) {
		// This serializes claims: two that count concurrently would both pass.
		if _, err := tx.Exec(ctx, `UPDATE visitor_mails_turn SET at = $1 WHERE id = 1`, c.Now); err != nil {
			return err
		}
		over, until, err = claimMail(ctx, tx, c)
		return err
	})
	return over, until, err
}

func claimMail(
	ctx context.Context, tx Tx, c MailClaim,
) (over MailLimit, until time.Time, err error) {
	type row struct {
		Network     string
		Sent, Waits bool
		ToAddress   int
	}
	mail, err := one[row](ctx, tx, "finding the mail", `SELECT coalesce(max(network), '') AS network,
coalesce(max(sent_at), 0) > 0 AS sent, coalesce(max(address), '') <> '' AS waits,
(SELECT count(*) FROM visitor_mails WHERE address = $3 AND sent_at > $4) AS to_address
FROM visitor_mails WHERE lead_id = $1 AND sending = $2`,
		c.LeadID, c.Sending, c.Address, c.Now.Add(-AddressWindow))
	switch {
	case err != nil || mail.Sent:
		return "", until, err
	case mail.ToAddress >= MailsPerAddress:
		return AddressLimit, until, nil
	}

	if c.PerHour > 0 && mail.Network != "" {
		over, until, err = mailSlot(ctx, tx, c, NetworkLimit, MailsPerNetwork, mail.Waits,
			` AND network = $2`, mail.Network)
	}
	if c.PerHour > 0 && over == "" && err == nil {
		over, until, err = mailSlot(ctx, tx, c, ServiceLimit, c.PerHour, mail.Waits, ``)
	}
	if err != nil || over == WaitingLimit {
		return over, until, err
	}

	sentAt := c.Now
	if over != "" {
		sentAt = time.Time{} // it waits and keeps its network
	}
	_, err = tx.Exec(ctx, `INSERT INTO visitor_mails (lead_id, sending, network, address, sent_at, needed_at)
VALUES ($1, $2, '', $3, $4, $5) ON CONFLICT (lead_id, sending)
DO UPDATE SET address = excluded.address, sent_at = excluded.sent_at, needed_at = excluded.needed_at`,
		c.LeadID, c.Sending, c.Address, sentAt, c.Now)
	return over, until, err
}

// mailSlot returns the limit if a mail exceeds it, and the time of the mail's slot: when
// enough mails have left the window for it and for those already waiting. The limit
// applies to the mails that match a condition.
func mailSlot(
	ctx context.Context, tx Tx, c MailClaim, limit MailLimit, maxMails int, waits bool,
	condition string, args ...any,
) (over MailLimit, until time.Time, err error) {
	type row struct {
		SentAt  time.Time
		Waiting int // number of waiting mails, the same in each row
	}
	sent, err := all[row](ctx, tx, "reading the times of sent mails", fmt.Sprintf(`SELECT sent_at,
(SELECT count(*) FROM visitor_mails WHERE sent_at = 0 AND address <> ''%[1]s) AS waiting
FROM visitor_mails WHERE sent_at > $1%[1]s ORDER BY sent_at DESC LIMIT %[2]d`, condition, maxMails),
		append([]any{c.Now.Add(-MailWindow)}, args...)...)
	if err != nil || len(sent) < maxMails {
		return "", until, err
	}

	waiting := sent[0].Waiting
	if waits {
		waiting--
	} else if limit == NetworkLimit && waiting >= MailsWaiting {
		return WaitingLimit, until, nil
	}
	freed := sent[maxMails-1-waiting%maxMails].SentAt
	return limit, freed.Add(MailWindow * time.Duration(1+waiting/maxMails)), nil
}

// PruneMails removes the hashes last needed before a time.
func (s *Store) PruneMails(ctx context.Context, before time.Time) (int64, error) {
	return s.exec(ctx, "removing hashes", `DELETE FROM visitor_mails WHERE needed_at < $1`, before)
}

// MailNetworks counts the leads whose network is known, and their networks.
func (s *Store) MailNetworks(ctx context.Context) (leads, networks int64, err error) {
	r, err := one[struct{ Leads, Networks int64 }](ctx, s.db, "counting networks",
		`SELECT count(*) AS leads, count(DISTINCT network) AS networks
FROM visitor_mails WHERE network <> ''`)
	return r.Leads, r.Networks, err
}
