package sqlstore

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/store"
)

// consentRow is what is read of a consent.
type consentRow struct {
	Purpose     string
	Given       bool
	Text        string // its wording; empty if the client did not say
	SiteWording bool
	WithdrawnAt time.Time // zero: it was not
	At          time.Time
	Locale      string
}

// consent returns the consent of a row.
func (r *consentRow) consent() lead.Consent {
	c := lead.Consent{Purpose: r.Purpose, Given: r.Given, Text: r.Text, SiteWording: r.SiteWording}
	if !r.WithdrawnAt.IsZero() {
		c.WithdrawnAt = &r.WithdrawnAt
	}
	return c
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// HashKey implements [store.Mails].
func (s *Store) HashKey(ctx context.Context) ([]byte, error) { return hashKey(ctx, s.db) }

func hashKey(ctx context.Context, db DB) ([]byte, error) {
	key, err := one[string](ctx, db, "reading the key of addresses", `SELECT key FROM hash_key WHERE id = 1`)
	return []byte(key), err
}

// addressHash returns the keyed hash of an address, which all its spellings share.
func addressHash(ctx context.Context, db DB, email string) (string, error) {
	key, err := hashKey(ctx, db)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(mailbox.Key(email)))
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// addConsents stores what came with a new lead.
func addConsents(ctx context.Context, tx Tx, l *lead.Lead) error {
	if len(l.Consents) == 0 {
		return nil
	}
	address, err := addressHash(ctx, tx, l.Contact.Email)
	if err != nil {
		return err
	}

	for _, c := range l.Consents {
		hash := ""
		if c.Text != "" {
			hash = digest(c.Text)
			_, err := tx.Exec(ctx, `INSERT INTO consent_texts (hash, text) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
				hash, c.Text)
			if err != nil {
				return fmt.Errorf("storing the wording of a consent: %w", err)
			}
		}

		_, err := tx.Exec(ctx, `INSERT INTO consents
(lead_id, purpose, given, at, locale, text_hash, site_wording, address) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT DO NOTHING`, l.ID, c.Purpose, c.Given, l.SubmittedAt, l.Locale, hash, c.SiteWording, address)
		if err != nil {
			return fmt.Errorf("storing a consent: %w", err)
		}
	}
	return nil
}

// consents returns the rows that fulfil a condition.
func consents(ctx context.Context, db DB, where string, args ...any) ([]consentRow, error) {
	return all[consentRow](ctx, db, "reading the consents", `SELECT purpose, given, coalesce(text, '') AS text,
site_wording, withdrawn_at, at, locale FROM consents LEFT JOIN consent_texts ON hash = text_hash`+where, args...)
}

// fillConsents completes the consents of a lead, of which its row has the purposes.
func fillConsents(ctx context.Context, db DB, l *lead.Lead) error {
	if len(l.Consents) == 0 {
		return nil
	}

	rows, err := consents(ctx, db, ` WHERE lead_id = $1`, l.ID)
	for _, r := range rows {
		for i := range l.Consents {
			if l.Consents[i].Purpose == r.Purpose {
				l.Consents[i] = r.consent()
			}
		}
	}
	return err
}

// WithdrawConsent implements [store.Archive].
func (s *Store) WithdrawConsent(
	ctx context.Context, email, purpose string, at time.Time, audit ...store.AuditEntry,
) (w store.Withdrawal, err error) {
	err = s.write(ctx, "withdrawing a consent", func(ctx context.Context, tx Tx) error {
		address, err := addressHash(ctx, tx, email)
		if err != nil {
			return err
		}
		ids, err := all[string](ctx, tx, "marking consents", `UPDATE consents SET withdrawn_at = $1
WHERE address = $2 AND purpose = $3 AND given = 1 AND withdrawn_at = 0 RETURNING lead_id`, at, address, purpose)
		if err != nil {
			return err
		}

		var sessions int64
		if purpose == lead.SaveProgress {
			if sessions, err = tx.Exec(ctx, eraseHints+ofMailbox, mailbox.Key(email)); err != nil {
				return err
			}
		}
		if len(ids) == 0 && sessions == 0 {
			return store.ErrNotFound
		}

		stored, err := resendChanged(ctx, tx, ids)
		if err != nil {
			return err
		}
		w = store.Withdrawal{Leads: stored, Deleted: len(ids) - stored, Sessions: int(sessions)}

		// Acts whose leads are forgotten have nothing to prove any more.
		_, err = tx.Exec(ctx, `DELETE FROM consents WHERE address = $1 AND withdrawn_at > 0
AND lead_id NOT IN (SELECT id FROM leads)`, address)
		return errors.Join(err, removeUnusedTexts(ctx, tx), appendAudit(ctx, tx, audit))
	})
	if err != nil {
		return store.Withdrawal{}, err
	}
	return w, nil
}

// resendChanged delivers leads to the CMS and the CRM again, but for those in review and
// those that were rejected. It returns how many of the leads are stored. Where an attempt is
// running, which may have read the lead as it was, the new job waits for its end.
func resendChanged(ctx context.Context, tx Tx, ids []string) (stored int, err error) {
	type row struct {
		ID     string
		Review int64
	}
	for some := range slices.Chunk(ids, chunk) {
		var c conditions
		c.in("id", some)
		rows, err := all[row](ctx, tx, "looking for leads that have changed",
			`SELECT id, review FROM leads`+c.where(), c.args...)
		if err != nil {
			return 0, err
		}

		var released []string
		for _, r := range rows {
			if r.Review == 0 {
				released = append(released, r.ID)
			}
		}
		if err := enqueue(ctx, tx, released, lead.CMS, lead.CRM); err != nil {
			return 0, err
		}
		stored += len(rows)
	}
	return stored, nil
}

// removeUnusedTexts removes the wordings of consents that are gone. A client may have sent
// anything as a wording.
func removeUnusedTexts(ctx context.Context, tx Tx) error {
	_, err := tx.Exec(ctx, `DELETE FROM consent_texts
WHERE NOT EXISTS (SELECT 1 FROM consents WHERE text_hash = hash)`)
	return err
}

// forgetLead removes the consents of a lead, except for those to keep: what was given stays
// as the proof of it, without the lead's id.
func forgetLead(ctx context.Context, tx Tx, id string, keep bool) error {
	condition := ``
	if keep {
		condition = ` AND (given = 0 OR withdrawn_at > 0)`
	}

	n, err := tx.Exec(ctx, `DELETE FROM consents WHERE lead_id = $1`+condition, id)
	if err != nil {
		return fmt.Errorf("removing consents: %w", err)
	}
	if keep {
		_, err := tx.Exec(ctx, `UPDATE consents SET lead_id = $1 WHERE lead_id = $2`, digest(id), id)
		if err != nil {
			return fmt.Errorf("keeping consents: %w", err)
		}
	}
	if n == 0 {
		return nil
	}
	return removeUnusedTexts(ctx, tx)
}
