package store

import (
	"context"
	"fmt"
	"strings"
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

	return all[KeptConsent](ctx, s.db, "reading the consents",
		`SELECT `+consentColumns+`, at, locale FROM consents WHERE address = $1
AND NOT EXISTS (SELECT 1 FROM leads WHERE leads.id = lead_id) ORDER BY at, purpose`, address)
}

// CountPerson counts the consents and sessions that an erasure of leads and of an address
// removes: those of the leads, those stored for the address, also of leads erased by
// PruneLeads, and the sessions in which it was typed, in any spelling of its mailbox. An
// empty address has none. A session from which another lead came stays.
func (s *Store) CountPerson(
	ctx context.Context, email string, leads []string,
) (consents, sessions int64, err error) {
	address, err := s.hashOf(ctx, email)
	if err != nil {
		return 0, 0, err
	}

	var c conditions
	addIn(&c, "lead_id", append([]string{""}, leads...))
	theirs := strings.TrimPrefix(c.where(), " WHERE lead_id")
	c.args = append(c.args, mailbox.Key(email), address)
	n := len(c.args)
	type row struct{ Consents, Sessions int64 }
	r, err := one[row](ctx, s.db, "counting the data of a person", fmt.Sprintf(
		`SELECT (SELECT count(*) FROM consents
WHERE address = $%[2]d AND address <> '' OR lead_id%[3]s) AS consents,
(SELECT count(*) FROM sessions WHERE mailbox = $%[1]d AND mailbox <> ''
OR id IN (SELECT session_id FROM leads WHERE id%[3]s)
AND NOT EXISTS (SELECT 1 FROM leads WHERE session_id = sessions.id AND id NOT%[3]s)) AS sessions`,
		n-1, n, theirs), c.args...)
	return r.Consents, r.Sessions, err
}

// EraseAddress removes the consents stored for an address, and the contact form entries of
// the sessions in which it was typed, and returns their numbers. The webhook is notified of
// leads of the address that it got and PruneLeads erased.
func (s *Store) EraseAddress(ctx context.Context, email string) (consents, sessions int64, err error) {
	address, err := s.hashOf(ctx, email)
	if err != nil {
		return 0, 0, err
	}

	err = s.write(ctx, "erasing an address", func(ctx context.Context, tx Tx) error {
		if consents, err = tx.Exec(ctx, `DELETE FROM consents WHERE address = $1 AND address <> ''`,
			address); err != nil {
			return err
		}
		if err := notifyErased(ctx, tx, "address = $1", address); err != nil {
			return err
		}
		sessions, err = tx.Exec(ctx, eraseHints+ofMailbox, mailbox.Key(email))
		return err
	})
	return consents, sessions, err
}

// hashOf is addressHash, or empty for an empty address.
func (s *Store) hashOf(ctx context.Context, email string) (string, error) {
	if email == "" {
		return "", nil
	}
	return addressHash(ctx, s.db, email)
}
