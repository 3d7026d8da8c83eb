package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"siteapi/integrations/store"
)

// saveNetwork keeps the network that a lead came from until its mail is sent, if it is known.
func saveNetwork(ctx context.Context, tx Tx, n store.NewLead) error {
	if n.Network == "" {
		return nil
	}
	_, err := tx.Exec(ctx, `INSERT INTO visitor_mails (lead_id, sending, network, needed_at)
VALUES ($1, 0, $2, $3)`, n.Lead.ID, n.Network, n.Lead.SubmittedAt)
	if err != nil {
		return fmt.Errorf("storing the network of a lead: %w", err)
	}
	return nil
}

// ClaimMail counts a mail to a visitor, or returns the limit that it is over.
func (s *Store) ClaimMail(
	ctx context.Context, c store.MailClaim,
) (over store.MailLimit, until time.Time, err error) {
	err = s.write(ctx, "counting a mail", func(ctx context.Context, tx Tx) (err error) {
		// One claim at a time: two that count at the same time would both pass.
		if _, err := tx.Exec(ctx, `UPDATE visitor_mails_turn SET at = $1 WHERE id = 1`, c.Now); err != nil {
			return err
		}
		over, until, err = claimMail(ctx, tx, c)
		return err
	})
	return over, until, err
}

func claimMail(ctx context.Context, tx Tx, c store.MailClaim) (over store.MailLimit, until time.Time, err error) {
	type row struct {
		Network, Address string
		SentAt           time.Time
	}
	mail, err := one[row](ctx, tx, "looking for the mail",
		`SELECT network, address, sent_at FROM visitor_mails WHERE lead_id = $1 AND sending = $2`, c.LeadID, c.Sending)
	if err != nil && !errors.Is(err, store.ErrNotFound) || !mail.SentAt.IsZero() {
		return "", time.Time{}, err
	}

	sent, err := one[int](ctx, tx, "counting the mails to an address",
		`SELECT count(*) FROM visitor_mails WHERE address = $1 AND sent_at > $2`,
		c.Address, c.Now.Add(-store.AddressWindow))
	if err != nil || sent >= store.MailsPerAddress {
		return store.AddressLimit, time.Time{}, err
	}

	if c.PerHour > 0 {
		over, until, err = mailSlot(ctx, tx, c, mail.Network, mail.Address != "")
	}
	if err != nil || over == store.WaitingLimit {
		return over, time.Time{}, err
	}

	sentAt := c.Now
	if over != "" {
		sentAt = time.Time{} // it waits, and its network stays known
	}
	_, err = tx.Exec(ctx, `INSERT INTO visitor_mails (lead_id, sending, network, address, sent_at, needed_at)
VALUES ($1, $2, '', $3, $4, $5) ON CONFLICT (lead_id, sending)
DO UPDATE SET address = excluded.address, sent_at = excluded.sent_at, needed_at = excluded.needed_at`,
		c.LeadID, c.Sending, c.Address, sentAt, c.Now)
	return over, until, err
}

// mailSlot returns the limit of the network or of the service that a mail is over, and the
// time at which enough mails have left the window for it and for those that wait already.
func mailSlot(
	ctx context.Context, tx Tx, c store.MailClaim, network string, waits bool,
) (store.MailLimit, time.Time, error) {
	since := c.Now.Add(-store.MailWindow)
	for _, limit := range []struct {
		name      store.MailLimit
		condition string
		args      []any
		most      int
	}{
		{store.NetworkLimit, ` AND network = $2`, []any{network}, store.MailsPerNetwork},
		{store.ServiceLimit, ``, nil, c.PerHour},
	} {
		if limit.name == store.NetworkLimit && network == "" {
			continue
		}

		query := fmt.Sprintf(`SELECT sent_at FROM visitor_mails WHERE sent_at > $1%s
ORDER BY sent_at DESC LIMIT %d`, limit.condition, limit.most)
		sent, err := all[int64](ctx, tx, "reading when mails were sent", query, append([]any{since}, limit.args...)...)
		if err != nil {
			return "", time.Time{}, err
		}
		if len(sent) < limit.most {
			continue
		}

		query = `SELECT count(*) FROM visitor_mails WHERE sent_at = $1 AND address <> ''` + limit.condition
		waiting, err := one[int](ctx, tx, "counting the mails that wait", query, append([]any{0}, limit.args...)...)
		if err != nil {
			return "", time.Time{}, err
		}
		if waits {
			waiting--
		} else if limit.name == store.NetworkLimit && waiting >= store.MailsWaiting {
			return store.WaitingLimit, time.Time{}, nil
		}

		leaves := time.UnixMilli(sent[limit.most-1-waiting%limit.most]).UTC()
		return limit.name, leaves.Add(store.MailWindow * time.Duration(1+waiting/limit.most)), nil
	}
	return "", time.Time{}, nil
}

// PruneMails removes the hashes that were last needed before a time.
func (s *Store) PruneMails(ctx context.Context, before time.Time) (int64, error) {
	return s.exec(ctx, "removing hashes", `DELETE FROM visitor_mails WHERE needed_at < $1`, before)
}

// MailNetworks counts the leads whose network is known, and their networks.
func (s *Store) MailNetworks(ctx context.Context) (leads, networks int64, err error) {
	type row struct{ Leads, Networks int64 }
	r, err := one[row](ctx, s.db, "counting networks",
		`SELECT count(*) AS leads, count(DISTINCT network) AS networks FROM visitor_mails WHERE network <> ''`)
	return r.Leads, r.Networks, err
}
