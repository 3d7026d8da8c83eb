package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
)

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// Hash returns the keyed hash of a value of a kind, such as "network".
func (s *Store) Hash(ctx context.Context, kind, value string) (string, error) {
	hash, err := keyedHash(ctx, s.db, kind+"\x00"+value)
	return fmt.Sprintf("%.16x", hash), err
}

// addressHash returns the keyed hash of an address. All spellings of its mailbox share
// it.
func addressHash(ctx context.Context, db DB, email string) (string, error) {
	hash, err := keyedHash(ctx, db, mailbox.Key(email))
	return fmt.Sprintf("%x", hash), err
}

// keyedHash returns the hash of a text. Its key was generated with the database, and does not
// depend on settings.
func keyedHash(ctx context.Context, db DB, text string) ([]byte, error) {
	key, err := one[string](ctx, db, "reading the key of the hashes", `SELECT key FROM hash_key WHERE id = 1`)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return mac.Sum(nil), nil
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
		w, err = withdraw(ctx, tx, email, purpose, at, audit)
		if err == nil && w == (Withdrawal{}) {
			return ErrNotFound
		}
		return err
	})
	if err != nil {
		return Withdrawal{}, err
	}
	return w, nil
}

// WithdrawLeadConsent withdraws a consent that was given with a lead, as [Store.WithdrawConsent]
// does for the lead's address. It returns false and changes nothing if the lead has no such
// consent, and ErrNotFound if the lead is unknown.
func (s *Store) WithdrawLeadConsent(
	ctx context.Context, id, purpose string, at time.Time, audit AuditEntry,
) (withdrawn bool, err error) {
	err = s.write(ctx, "withdrawing a consent of a lead", func(ctx context.Context, tx Tx) error {
		withdrawn, err = one[bool](ctx, tx, "finding the consent", `SELECT EXISTS (SELECT 1 FROM consents
WHERE lead_id = $1 AND purpose = $2 AND given = 1 AND withdrawn_at = 0) AS given`, id, purpose)
		if err != nil || !withdrawn {
			return errors.Join(err, exists(ctx, tx, id))
		}

		r, err := one[leadRow](ctx, tx, "reading the lead", selectLead+` WHERE id = $1`, id)
		if err != nil {
			return err
		}
		found := []lead.Lead{r.lead()}
		if err := complete(ctx, tx, found); err != nil {
			return err
		}
		_, err = withdraw(ctx, tx, found[0].Address(), purpose, at, audit)
		return err
	})
	return withdrawn && err == nil, err
}

// withdraw marks the given consents of an address. A running attempt may have read the lead
// before its change, so the new job waits until the attempt ends.
func withdraw(
	ctx context.Context, tx Tx, email, purpose string, at time.Time, audit AuditEntry,
) (w Withdrawal, err error) {
	address, err := addressHash(ctx, tx, email)
	if err != nil {
		return w, err
	}

	type row struct {
		LeadID string
		Review int64 // -1: the lead was erased
	}
	key := mailbox.Key(email)
	list, err := all[row](ctx, tx, "marking it", `UPDATE consents SET withdrawn_at = $1
WHERE (address = $2 OR lead_id IN (`+leadsOf("$3")+`)) AND purpose = $4 AND given = 1 AND withdrawn_at = 0
RETURNING lead_id, coalesce((SELECT review FROM leads WHERE id = lead_id), -1) AS review`,
		at, address, key, purpose)
	if err != nil {
		return w, err
	}

	var marked, released []string
	entries := []AuditEntry{audit}
	for _, c := range list {
		marked = append(marked, c.LeadID)
		if c.Review < 0 {
			w.Deleted++
			continue
		}
		if c.Review == 0 {
			released = append(released, c.LeadID)
		}
		audit.Lead = c.LeadID
		entries = append(entries[:w.Leads], audit)
		w.Leads++
	}
	if err := enqueue(ctx, tx, released, lead.CMS, lead.CRM); err != nil {
		return w, err
	}
	if err := notifyWithdrawn(ctx, tx, marked, address, purpose); err != nil {
		return w, err
	}

	if purpose == lead.SaveProgress {
		sessions, err := tx.Exec(ctx, eraseHints+ofMailbox, key)
		if err != nil {
			return w, err
		}
		w.Sessions = int(sessions)
	}
	if w == (Withdrawal{}) {
		return w, nil
	}

	// A withdrawn consent whose lead was erased no longer proves anything.
	_, err = tx.Exec(ctx, `DELETE FROM consents WHERE address = $1 AND withdrawn_at > 0
AND lead_id NOT IN (SELECT id FROM leads)`, address)
	if err != nil {
		return w, err
	}
	return w, appendAudit(ctx, tx, entries)
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
