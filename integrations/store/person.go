package store

import (
	"context"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
)

// KeptConsent is a consent that outlived its lead.
type KeptConsent struct {
	lead.Consent
	At     time.Time // when the lead was submitted
	Locale string    // the lead's language
}

// KeptConsents returns the consents of an address that outlived their leads.
func (s *Store) KeptConsents(ctx context.Context, email string) ([]KeptConsent, error) {
	address, err := addressHash(ctx, s.db, email)
	if err != nil {
		return nil, err
	}

	return all[KeptConsent](ctx, s.db, "reading the consents", `SELECT `+consentColumns+`, at, locale FROM consents WHERE address = $1
AND NOT EXISTS (SELECT 1 FROM leads WHERE leads.id = lead_id) ORDER BY at, purpose`, address)
}

// CountAddress returns the number of consents stored for an address, including those of
// leads erased by PruneLeads, and the number of sessions in which it was typed. It counts
// any spelling of the same mailbox.
func (s *Store) CountAddress(ctx context.Context, email string) (consents, sessions int64, err error) {
	address, err := addressHash(ctx, s.db, email)
	if err != nil {
		return 0, 0, err
	}

	type row struct{ Consents, Sessions int64 }
	r, err := one[row](ctx, s.db, "counting the data of an address",
		`SELECT (SELECT count(*) FROM consents WHERE address = $2) AS consents,
(SELECT count(*) FROM sessions`+ofMailbox+`) AS sessions`, mailbox.Key(email), address)
	return r.Consents, r.Sessions, err
}

// EraseAddress removes these consents and the contact form entries of these sessions in
// one transaction, and returns their numbers.
func (s *Store) EraseAddress(ctx context.Context, email string) (consents, sessions int64, err error) {
	err = s.write(ctx, "erasing an address", func(ctx context.Context, tx Tx) error {
		address, err := addressHash(ctx, tx, email)
		if err != nil {
			return err
		}

		if consents, err = tx.Exec(ctx, `DELETE FROM consents WHERE address = $1`, address); err != nil {
			return err
		}
		sessions, err = tx.Exec(ctx, eraseHints+ofMailbox, mailbox.Key(email))
		return err
	})
	return consents, sessions, err
}
