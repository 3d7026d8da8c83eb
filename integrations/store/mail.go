package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"siteapi/integrations/lead"
)

// Limits on mails to visitors.
const (
	MailsPerAddress = 3  // within [AddressWindow]
	MailsPerNetwork = 20 // within [MailWindow]
	MailsWaiting    = 50 // waiting mails of one network
	AddressWindow   = 24 * time.Hour
	MailWindow      = time.Hour
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
) (over lead.NoMailReason, until time.Time, err error) {
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

// CountMails returns how many mails were sent to an address in [AddressWindow]. The address
// is a keyed hash.
func (s *Store) CountMails(ctx context.Context, address string, now time.Time) (int, error) {
	return countMails(ctx, s.db, address, now)
}

func countMails(ctx context.Context, db DB, address string, now time.Time) (int, error) {
	return one[int](ctx, db, "counting mails", `SELECT count(*) FROM visitor_mails
WHERE address = $1 AND sent_at > $2`, address, now.Add(-AddressWindow))
}

func claimMail(
	ctx context.Context, tx Tx, c MailClaim,
) (over lead.NoMailReason, until time.Time, err error) {
	type row struct {
		Network     string
		Sent, Waits bool
	}
	mail, err := one[row](ctx, tx, "finding the mail", `SELECT coalesce(max(network), '') AS network,
coalesce(max(sent_at), 0) > 0 AS sent, coalesce(max(address), '') <> '' AS waits
FROM visitor_mails WHERE lead_id = $1 AND sending = $2`, c.LeadID, c.Sending)
	if err != nil || mail.Sent {
		return "", until, err
	}
	if n, err := countMails(ctx, tx, c.Address, c.Now); err != nil || n >= MailsPerAddress {
		return lead.AddressLimit, until, err
	}

	if c.PerHour > 0 && mail.Network != "" {
		over, until, err = mailSlot(ctx, tx, c, lead.NetworkLimit, MailsPerNetwork, mail.Waits,
			` AND network = $2`, mail.Network)
	}
	if c.PerHour > 0 && over == "" && err == nil {
		over, until, err = mailSlot(ctx, tx, c, lead.ServiceLimit, c.PerHour, mail.Waits, ``)
	}
	if err != nil || over == lead.WaitingLimit {
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
	ctx context.Context, tx Tx, c MailClaim, limit lead.NoMailReason, maxMails int, waits bool,
	condition string, args ...any,
) (over lead.NoMailReason, until time.Time, err error) {
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
	} else if limit == lead.NetworkLimit && waiting >= MailsWaiting {
		return lead.WaitingLimit, until, nil
	}
	freed := sent[maxMails-1-waiting%maxMails].SentAt
	return limit, freed.Add(MailWindow * time.Duration(1+waiting/maxMails)), nil
}

// Mails to visitors are stuck if those to several domains wait, or one for longer.
const (
	stuckAfter   = time.Hour
	stuckDomains = 3
	stuckAlone   = 6 * time.Hour
	refusedWhile = 24 * time.Hour // how long a mail counts that ended as [lead.MailRefused]
)

// StuckMails are mails to visitors that do not arrive, probably because of the mail server
// or a setting. It is zero if at most single mailboxes are affected.
type StuckMails struct {
	Since  time.Time // of the oldest of them
	Number int
	Newest int64 // id of the delivery
}

// StuckMails finds them. A mail that waits because of our own limits does not count.
func (s *Store) StuckMails(ctx context.Context, now time.Time) (StuckMails, error) {
	type row struct {
		ID      int64
		Mailbox string
		Since   time.Time
		Waits   bool
	}
	const of = ` FROM deliveries d JOIN leads l ON l.id = d.lead_id WHERE target = 'visitor_mail' AND `
	found, err := all[row](ctx, s.db, "finding stuck mails", `
SELECT d.id AS id, coalesce(nullif(d.mailbox, ''), l.mailbox) AS mailbox, due_at AS since, 1 AS waits`+of+`
d.progress > 0 AND due_at < $1
UNION ALL
SELECT d.id, coalesce(nullif(d.mailbox, ''), l.mailbox), finished_at, 0`+of+`
code = 'REFUSED' AND finished_at > $2
ORDER BY since, id`, now.Add(-stuckAfter), now.Add(-refusedWhile))

	domains, alone := map[string]bool{}, false
	for _, r := range found {
		domains[r.Mailbox[strings.LastIndexByte(r.Mailbox, '@')+1:]] = true
		alone = alone || r.Waits && now.Sub(r.Since) > stuckAlone
	}
	if len(domains) < stuckDomains && !alone {
		return StuckMails{}, err
	}
	return StuckMails{found[0].Since, len(found), found[len(found)-1].ID}, err
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
