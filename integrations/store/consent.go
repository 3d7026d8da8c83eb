package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
)

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// HashKey returns the key of the hashes of addresses and networks. It was generated with
// the database, and does not depend on settings.
func (s *Store) HashKey(ctx context.Context) ([]byte, error) { return hashKey(ctx, s.db) }

func hashKey(ctx context.Context, db DB) ([]byte, error) {
	key, err := one[string](ctx, db, "reading the key of the hashes", `SELECT key FROM hash_key WHERE id = 1`)
	return []byte(key), err
}

// addressHash returns the keyed hash of an address. All spellings of its mailbox share
// it.
func addressHash(ctx context.Context, db DB, email string) (string, error) {
	key, err := hashKey(ctx, db)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(mailbox.Key(email)))
	return fmt.Sprintf("%x", mac.Sum(nil)), nil
}

// addConsents stores the consents of a new lead.
func addConsents(ctx context.Context, tx Tx, l lead.Lead) error {
	if len(l.Consents) == 0 {
		return nil
	}
	address, err := addressHash(ctx, tx, l.Contact.Email)
	if err != nil {
		return err
	}

	var values []any
	for _, c := range l.Consents {
		values = append(values, l.ID, c.Purpose, c.Given, c.Text,
			l.SubmittedAt, l.Locale, c.SiteWording, address)
	}
	return insertRows(ctx, tx, "consents", "lead_id, purpose, given, text, at, locale, site_wording, address",
		values, " ON CONFLICT DO NOTHING")
}

// WithdrawConsent records the withdrawal of a consent in all leads of an address in which
// it was given, and delivers the released ones to the CMS and the CRM again. Withdrawing
// [lead.SaveProgress] also erases the contact form entries of the address's sessions,
// even if the consent was not given with a lead. Each lead gets the audit entry, which
// without a lead names none. It returns ErrNotFound if there is nothing to withdraw.
func (s *Store) WithdrawConsent(
	ctx context.Context, email, purpose string, at time.Time, audit AuditEntry,
) (w Withdrawal, err error) {
	err = s.write(ctx, "withdrawing a consent", func(ctx context.Context, tx Tx) error {
		address, err := addressHash(ctx, tx, email)
		if err != nil {
			return err
		}

		key := mailbox.Key(email)
		marked, leads, err := withdraw(ctx, tx, purpose, at,
			"(address = ? OR lead_id IN ("+leadsOf("?")+"))", address, key, key)
		if err != nil {
			return err
		}
		var sessions int64
		if purpose == lead.SaveProgress {
			if sessions, err = tx.Exec(ctx, eraseHints+ofMailbox, key); err != nil {
				return err
			}
		}
		if marked == 0 && sessions == 0 {
			return ErrNotFound
		}
		w = Withdrawal{Leads: len(leads), Deleted: marked - len(leads), Sessions: int(sessions)}

		// A withdrawn consent whose lead was erased no longer proves anything.
		_, err = tx.Exec(ctx, `DELETE FROM consents WHERE address = $1 AND withdrawn_at > 0
AND lead_id NOT IN (SELECT id FROM leads)`, address)
		if err != nil {
			return err
		}

		entries := []AuditEntry{audit}
		for i, id := range leads {
			audit.Lead = id
			entries = append(entries[:i], audit)
		}
		return appendAudit(ctx, tx, entries)
	})
	return w, err
}

// WithdrawLeadConsent records the withdrawal of a consent that was given with one lead, and
// delivers the lead to the CMS and the CRM again if it is released. With
// [lead.SaveProgress] it also erases what was typed in the lead's session. It returns
// false if there is nothing to withdraw, and ErrNotFound if the lead is unknown.
func (s *Store) WithdrawLeadConsent(
	ctx context.Context, id, purpose string, at time.Time, audit ...AuditEntry,
) (withdrawn bool, err error) {
	err = s.write(ctx, "withdrawing a consent of a lead", func(ctx context.Context, tx Tx) error {
		marked, _, err := withdraw(ctx, tx, purpose, at, "lead_id = ?", id)
		if withdrawn = marked > 0; err != nil {
			return err
		}
		if !withdrawn {
			return exists(ctx, tx, id)
		}

		if purpose == lead.SaveProgress {
			_, err := tx.Exec(ctx, eraseHints+" WHERE id = (SELECT session_id FROM leads WHERE id = $1)", id)
			if err != nil {
				return err
			}
		}
		return appendAudit(ctx, tx, audit)
	})
	return withdrawn && err == nil, err
}

// withdraw marks the given consents that match a condition, and delivers their leads to the
// CMS and the CRM again if they are released. It returns the number of consents and the
// leads that are still stored. A running attempt may have read the lead before its change,
// so the new job waits until the attempt ends.
func withdraw(
	ctx context.Context, tx Tx, purpose string, at time.Time, which string, args ...any,
) (marked int, leads []string, err error) {
	type row struct {
		LeadID string
		Review int64 // -1: the lead was erased
	}
	given := conditions{args: []any{at}}
	given.add(which, args...)
	given.add("purpose = ? AND given = 1 AND withdrawn_at = 0", purpose)
	list, err := all[row](ctx, tx, "marking it", "UPDATE consents SET withdrawn_at = $1"+given.where()+
		" RETURNING lead_id, coalesce((SELECT review FROM leads WHERE id = lead_id), -1) AS review", given.args...)
	if err != nil {
		return 0, nil, err
	}

	var released []string
	for _, c := range list {
		if c.Review >= 0 {
			leads = append(leads, c.LeadID)
		}
		if c.Review == 0 {
			released = append(released, c.LeadID)
		}
	}
	return len(list), leads, enqueue(ctx, tx, released, lead.CMS, lead.CRM)
}

// forgetLead removes the consents of an erased lead. With keep, consents that were given
// and not withdrawn stay as proof, with a hash in place of the lead's id.
func forgetLead(ctx context.Context, tx Tx, id string, keep bool) error {
	if _, err := tx.Exec(ctx, `DELETE FROM consents WHERE lead_id = $1
AND (given = 0 OR withdrawn_at > 0 OR $2 = 0)`, id, keep); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE consents SET lead_id = $1 WHERE lead_id = $2`, digest(id), id)
	return err
}
