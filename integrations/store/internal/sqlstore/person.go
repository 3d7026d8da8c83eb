package sqlstore

import (
	"context"

	"siteapi/integrations/store"
)

// KeptConsents returns the consents of an address that outlived their leads.
func (s *Store) KeptConsents(ctx context.Context, email string) ([]store.KeptConsent, error) {
	address, err := addressHash(ctx, s.db, email)
	if err != nil {
		return nil, err
	}

	rows, err := consents(ctx, s.db, ` WHERE address = $1
AND NOT EXISTS (SELECT 1 FROM leads WHERE leads.id = lead_id) ORDER BY at, purpose`, address)
	kept := make([]store.KeptConsent, len(rows))
	for i, r := range rows {
		kept[i] = store.KeptConsent{Consent: r.consent(), At: r.At, Locale: r.Locale}
	}
	return kept, err
}
