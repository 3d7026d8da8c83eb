package sqlstore

import (
	"context"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/store"
)

const setOutcome = `UPDATE leads
SET outcome = $1, won_amount = $2, won_currency = $3, outcome_at = $4, outcome_by = $5`

func outcomeValues(o lead.Outcome) []any {
	return []any{string(o.Value), o.Amount, o.Currency, o.At, o.By}
}

// SetOutcome implements [store.Outcomes]. The time at which an outcome was taken back
// stays, since an older one of the CRM does not count.
func (s *Store) SetOutcome(
	ctx context.Context, id string, o lead.Outcome, audit ...store.AuditEntry,
) error {
	if o.Value == "" {
		o = lead.Outcome{At: o.At}
	}

	return s.write(ctx, "storing an outcome", func(ctx context.Context, tx Tx) error {
		n, err := tx.Exec(ctx, setOutcome+` WHERE id = $6`, append(outcomeValues(o), id)...)
		if err != nil {
			return err
		}
		if n == 0 {
			return store.ErrNotFound
		}
		return appendAudit(ctx, tx, audit)
	})
}

// SetContactOutcome implements [store.Outcomes].
func (s *Store) SetContactOutcome(
	ctx context.Context, emails []string, o lead.Outcome,
) (leadID string, err error) {
	keys := make([]string, len(emails))
	for i, email := range emails {
		keys[i] = mailbox.Key(email)
	}
	if len(keys) == 0 {
		return "", store.ErrNotFound
	}

	newest := conditions{args: outcomeValues(o)}
	newest.in("mailbox", keys)
	newest.add("review = 0")

	update := conditions{args: newest.args}
	update.add("id = (SELECT id FROM leads" + newest.where() + " ORDER BY submitted_at DESC, id DESC LIMIT 1)")
	update.add("submitted_at < ?", o.At)
	update.add("outcome_at < ?", o.At)
	update.add("outcome_by = ''")

	err = s.write(ctx, "storing an outcome of the CRM", func(ctx context.Context, tx Tx) error {
		leadID, err = one[string](ctx, tx, "in the newest lead", setOutcome+update.where()+" RETURNING id", update.args...)
		return err
	})
	return leadID, err
}
