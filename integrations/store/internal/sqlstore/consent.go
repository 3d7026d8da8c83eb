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

const consentColumns = `lead_id, purpose, given, at, locale, text_hash, site_wording, address, withdrawn_at`

// ConsentRow is a consent as it is stored, with its wording.
type ConsentRow struct {
	LeadID      string // hashed once the lead is forgotten
	Purpose     string
	Given       int64
	At          int64 // milliseconds
	Locale      string
	TextHash    string // empty if the client did not say
	SiteWording int64
	Address     string // keyed hash
	WithdrawnAt int64  // milliseconds; 0: not
	Text        string
}

func (r *ConsentRow) columns() []any {
	return []any{
		&r.LeadID, &r.Purpose, &r.Given, &r.At, &r.Locale,
		&r.TextHash, &r.SiteWording, &r.Address, &r.WithdrawnAt, &r.Text,
	}
}

// consent returns the consent of a row.
func (r *ConsentRow) consent() lead.Consent {
	c := lead.Consent{
		Purpose:     r.Purpose,
		Given:       r.Given == 1,
		Text:        r.Text,
		SiteWording: r.SiteWording == 1,
	}
	if r.WithdrawnAt > 0 {
		at := time.UnixMilli(r.WithdrawnAt).UTC()
		c.WithdrawnAt = &at
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
	var key string
	if err := one(ctx, db, `SELECT key FROM hash_key WHERE id = 1`, nil, &key); err != nil {
		return nil, fmt.Errorf("reading the key of addresses: %w", err)
	}
	return []byte(key), nil
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
		row := ConsentRow{
			LeadID:  l.ID,
			Purpose: c.Purpose,
			Given:   number(c.Given),
			At:      l.SubmittedAt.UnixMilli(),
			Locale:  l.Locale,
			Address: address,
			Text:    c.Text,
		}
		row.SiteWording = number(c.SiteWording)
		if c.Text != "" {
			row.TextHash = digest(c.Text)
		}
		if err := addConsent(ctx, tx, row); err != nil {
			return err
		}
	}
	return nil
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// addConsent stores a consent with its wording, unless it is there already.
func addConsent(ctx context.Context, tx Tx, r ConsentRow) error {
	if r.TextHash != "" {
		if _, err := tx.Exec(ctx, `INSERT INTO consent_texts (hash, text) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
			r.TextHash, r.Text); err != nil {
			return fmt.Errorf("storing the wording of a consent: %w", err)
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO consents (`+consentColumns+`)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
		r.LeadID, r.Purpose, r.Given, r.At, r.Locale, r.TextHash, r.SiteWording, r.Address, r.WithdrawnAt)
	if err != nil {
		return fmt.Errorf("storing a consent: %w", err)
	}
	return nil
}

// consents yields the rows that fulfil a condition.
func consents(ctx context.Context, db DB, where string, args ...any) (rows []ConsentRow, err error) {
	err = db.Query(ctx, `SELECT `+consentColumns+`, coalesce(text, '') FROM consents
LEFT JOIN consent_texts ON hash = text_hash`+where, args, func(scan Scan) error {
		var r ConsentRow
		err := scan(r.columns()...)
		rows = append(rows, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the consents: %w", err)
	}
	return rows, nil
}

// fillConsents completes the consents of a lead, of which its row has the purposes.
func fillConsents(ctx context.Context, db DB, l *lead.Lead) error {
	if len(l.Consents) == 0 {
		return nil
	}

	rows, err := consents(ctx, db, ` WHERE lead_id = $1`, l.ID)
	for i := range l.Consents {
		c := &l.Consents[i]
		for _, r := range rows {
			if r.Purpose != c.Purpose {
				continue
			}
			*c = r.consent()
		}
	}

	return err
}

// WithdrawConsent implements [store.Archive].
func (s *Store) WithdrawConsent(
	ctx context.Context, email, purpose string, at time.Time, audit ...store.AuditEntry,
) (w store.Withdrawal, err error) {
	err = s.write(ctx, "withdrawing a consent", func(ctx context.Context, tx Tx) error {
		ids, address, err := withdraw(ctx, tx, email, purpose, at)
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

// withdraw marks the consents of an address as withdrawn, and returns their leads, also
// those that are forgotten, with the hash of the address.
func withdraw(
	ctx context.Context, tx Tx, email, purpose string, at time.Time,
) (ids []string, address string, err error) {
	address, err = addressHash(ctx, tx, email)
	if err != nil {
		return nil, "", err
	}
	err = tx.Query(ctx, `UPDATE consents SET withdrawn_at = $1
WHERE address = $2 AND purpose = $3 AND given = 1 AND withdrawn_at = 0 RETURNING lead_id`,
		[]any{at.UnixMilli(), address, purpose}, func(scan Scan) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	return ids, address, err
}

// resendChanged delivers leads to the CMS and the CRM again, but for those in review and
// those that were rejected. It returns how many of the leads are stored.
func resendChanged(ctx context.Context, tx Tx, ids []string) (stored int, err error) {
	for some := range slices.Chunk(ids, chunk) {
		var c conditions
		var released []string
		c.in("id", some)
		err := tx.Query(ctx, `SELECT id, review FROM leads`+c.where(), c.args, func(scan Scan) error {
			var id string
			var review int64
			err := scan(&id, &review)
			if stored++; review == 0 {
				released = append(released, id)
			}
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("looking for leads that have changed: %w", err)
		}

		if err := enqueueChanged(ctx, tx, released); err != nil {
			return 0, err
		}
	}
	return stored, nil
}

// CountConsents returns the number of consents that are stored about an address.
func (s *Store) CountConsents(ctx context.Context, email string) (n int64, err error) {
	address, err := addressHash(ctx, s.db, email)
	if err != nil {
		return 0, err
	}
	err = one(ctx, s.db, `SELECT count(*) FROM consents WHERE address = $1`, []any{address}, &n)
	return n, err
}

// EraseConsents removes the consents of an address, and returns their number.
func (s *Store) EraseConsents(ctx context.Context, email string) (n int64, err error) {
	err = s.write(ctx, "erasing consents", func(ctx context.Context, tx Tx) error {
		address, err := addressHash(ctx, tx, email)
		if err != nil {
			return err
		}
		if n, err = tx.Exec(ctx, `DELETE FROM consents WHERE address = $1`, address); err != nil || n == 0 {
			return err
		}
		return removeUnusedTexts(ctx, tx)
	})
	return n, err
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
