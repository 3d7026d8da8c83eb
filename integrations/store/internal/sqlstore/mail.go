package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"siteapi/integrations/store"
)

// saveNetwork keeps the network that a lead came from until its mail is sent.
func saveNetwork(ctx context.Context, tx Tx, leadID, network string, at int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO visitor_mails (lead_id, sending, network, needed_at)
VALUES ($1, 0, $2, $3)`, leadID, network, at)
	if err != nil {
		return fmt.Errorf("storing the network of a lead: %w", err)
	}
	return nil
}

// ClaimMail counts a mail to a visitor, or returns when to ask again.
func (s *Store) ClaimMail(ctx context.Context, c store.MailClaim) (until time.Time, err error) {
	full := false
	err = s.write(ctx, "counting a mail", func(ctx context.Context, tx Tx) (err error) {
		until, full = time.Time{}, false
		// One claim at a time: two that count at the same time would both pass.
		if _, err := tx.Exec(ctx, `UPDATE visitor_mails_turn SET at = $1 WHERE id = 1`, c.Now.UnixMilli()); err != nil {
			return err
		}
		full, until, err = claimMail(ctx, tx, c)
		return err
	})
	if err == nil && full {
		err = store.ErrTooManyMails
	}
	return until, err
}

func claimMail(ctx context.Context, tx Tx, c store.MailClaim) (full bool, until time.Time, err error) {
	var network string
	var sentAt int64
	now := c.Now.UnixMilli()
	err = one(ctx, tx, `SELECT network, sent_at FROM visitor_mails WHERE lead_id = $1 AND sending = $2`,
		[]any{c.LeadID, c.Sending}, &network, &sentAt)
	if err != nil && !errors.Is(err, store.ErrNotFound) || sentAt > 0 {
		return false, time.Time{}, err
	}

	var sent int
	err = one(ctx, tx, `SELECT count(*) FROM visitor_mails WHERE address = $1 AND sent_at > $2`,
		[]any{c.Address, now - store.AddressWindow.Milliseconds()}, &sent)
	if err != nil || sent >= store.MailsPerAddress {
		return sent >= store.MailsPerAddress, time.Time{}, err
	}

	if until, err = networkFree(ctx, tx, network, now); err != nil {
		return false, time.Time{}, err
	}
	if sentAt = now; !until.IsZero() {
		sentAt = 0 // it waits, and its network stays known
	}
	_, err = tx.Exec(ctx, `INSERT INTO visitor_mails (lead_id, sending, network, address, sent_at, needed_at)
VALUES ($1, $2, '', $3, $4, $5) ON CONFLICT (lead_id, sending)
DO UPDATE SET address = excluded.address, sent_at = excluded.sent_at, needed_at = excluded.needed_at`,
		c.LeadID, c.Sending, c.Address, sentAt, now)
	return false, until, err
}

// networkFree returns when a network may send the next mail, or the zero time if it may now.
func networkFree(ctx context.Context, tx Tx, network string, now int64) (until time.Time, err error) {
	if network == "" {
		return time.Time{}, nil
	}
	var oldest int64
	err = one(ctx, tx, fmt.Sprintf(`SELECT sent_at FROM visitor_mails WHERE network = $1 AND sent_at > $2
ORDER BY sent_at DESC LIMIT 1 OFFSET %d`, store.MailsPerNetwork-1),
		[]any{network, now - store.NetworkWindow.Milliseconds()}, &oldest)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	return time.UnixMilli(oldest).Add(store.NetworkWindow).UTC(), err
}

// PruneMails removes the hashes that were last needed before a time.
func (s *Store) PruneMails(ctx context.Context, before time.Time) (int64, error) {
	return s.db.Exec(ctx, `DELETE FROM visitor_mails WHERE needed_at < $1`, before.UnixMilli())
}

// MailNetworks counts the leads whose network is known, and their networks.
func (s *Store) MailNetworks(ctx context.Context) (leads, networks int64, err error) {
	err = one(ctx, s.db, `SELECT count(*), count(DISTINCT network) FROM visitor_mails WHERE network <> ''`,
		nil, &leads, &networks)
	return leads, networks, err
}
