package store

import (
	"context"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
)

const setOutcome = `UPDATE leads
SET outcome = $2, won_amount = $3, won_currency = $4, outcome_at = $5, outcome_by = $6`

// SetOutcome stores the outcome that an operator recorded, in place of any earlier one,
// or returns ErrNotFound. An outcome without a value clears it. A cleared outcome keeps
// its time, so that older outcomes of the CRM are still ignored.
func (s *Store) SetOutcome(
	ctx context.Context, id string, o lead.Outcome, audit ...AuditEntry,
) error {
	if o.Value == "" {
		o = lead.Outcome{At: o.At}
	}
	_, err := s.change(ctx, "storing an outcome", id, audit, nil, setOutcome+` WHERE id = $1`,
		o.Value, o.Amount, o.Currency, o.At, o.By)
	return err
}

// SetCRMOutcome stores the CRM's outcome of a lead. Without an id, it is the newest lead
// of a contact with the given addresses that is neither in review nor rejected. It
// returns the id of the lead, or ErrNotFound if there is no such lead or the outcome does
// not apply: it must be later than the lead and any earlier outcome, and no operator's
// outcome may be set.
func (s *Store) SetCRMOutcome(
	ctx context.Context, id string, emails []string, o lead.Outcome,
) (leadID string, err error) {
	column, keys := "mailbox", make([]string, len(emails))
	for i, email := range emails {
		keys[i] = mailbox.Key(email)
	}
	if id != "" {
		column, keys = "id", []string{id}
	}
	if len(keys) == 0 {
		return "", ErrNotFound
	}

	var newest conditions
	addIn(&newest, column, keys)
	newest.add("review = 0")
	err = s.write(ctx, "storing an outcome of the CRM", func(ctx context.Context, tx Tx) error {
		leadID, err = one[string](ctx, tx, "finding the newest lead",
			"SELECT id FROM leads"+newest.where()+" ORDER BY submitted_at DESC, id DESC LIMIT 1",
			newest.args...)
		if err != nil {
			return err
		}

		n, err := tx.Exec(ctx, setOutcome+` WHERE id = $1 AND submitted_at < $5
AND outcome_at < $5 AND outcome_by = ''`,
			leadID, o.Value, o.Amount, o.Currency, o.At, o.By)
		if err == nil && n == 0 {
			return ErrNotFound
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return leadID, nil
}
