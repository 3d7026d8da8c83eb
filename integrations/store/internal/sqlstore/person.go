package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/store"
)

// KeptConsents returns the consents of an address that outlived their leads.
func (s *Store) KeptConsents(ctx context.Context, email string) ([]store.KeptConsent, error) {
	address, former, err := addressHashes(ctx, s.db, email)
	if err != nil {
		return nil, err
	}

	rows, err := consents(ctx, s.db, ` WHERE address IN ($1, $2)
AND NOT EXISTS (SELECT 1 FROM submissions WHERE id = submission_id) ORDER BY at, purpose`, address, former)
	kept := make([]store.KeptConsent, len(rows))
	for i, r := range rows {
		kept[i] = store.KeptConsent{
			Consent: r.consent(),
			At:      time.UnixMilli(r.At).UTC(),
			Locale:  r.Locale,
		}
	}
	return kept, err
}

// SessionsOf returns the sessions in which an address was typed, and those of its leads.
func (s *Store) SessionsOf(ctx context.Context, email string) (list []lead.Session, err error) {
	ofLead := map[string]bool{}
	err = s.db.Query(ctx, `SELECT session_id FROM submissions WHERE email = $1`,
		[]any{mailbox.Key(email)}, func(scan Scan) error {
			var id string
			err := scan(&id)
			ofLead[id] = true
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("looking for the sessions of submissions: %w", err)
	}

	for session, err := range s.Sessions(ctx) {
		if err != nil {
			return nil, err
		}

		switch {
		case typed(session.Hints, email):
		case ofLead[session.ID]:
			if session.Hints.Email != "" {
				session.Hints = lead.Hints{}
			}
		default:
			continue
		}
		list = append(list, session)
	}

	slices.SortStableFunc(list, func(a, b lead.Session) int { return a.FirstSeen.Compare(b.FirstSeen) })
	return list, nil
}
