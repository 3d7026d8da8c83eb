package sqlstore

import (
	"context"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/store"
)

// OutcomeRow is what became of a lead, as it is stored.
type OutcomeRow struct {
	Value    string   // empty: not known
	Amount   *float64 // nil: not known
	Currency string
	At       int64  // milliseconds; 0: no outcome was ever said
	By       string // empty: the CRM said it, or there is no outcome
}

const (
	outcomeColumns = `outcome, won_amount, won_currency, outcome_at, outcome_by`
	setOutcome     = `UPDATE leads
SET outcome = $1, won_amount = $2, won_currency = $3, outcome_at = $4, outcome_by = $5`
)

func (r *OutcomeRow) columns() []any {
	return []any{&r.Value, &r.Amount, &r.Currency, &r.At, &r.By}
}

func (r *OutcomeRow) values() []any {
	return []any{r.Value, r.Amount, r.Currency, r.At, r.By}
}

func newOutcomeRow(o lead.Outcome) OutcomeRow {
	return OutcomeRow{
		Value:    string(o.Value),
		Amount:   o.Amount,
		Currency: o.Currency,
		At:       o.At.UnixMilli(),
		By:       o.By,
	}
}

// outcome returns what became of the lead; the zero value if it is not known.
func (r *OutcomeRow) outcome() lead.Outcome {
	if r.Value == "" {
		return lead.Outcome{}
	}
	return lead.Outcome{
		Value:    lead.OutcomeValue(r.Value),
		Amount:   r.Amount,
		Currency: r.Currency,
		At:       time.UnixMilli(r.At).UTC(),
		By:       r.By,
	}
}

// SetOutcome implements [store.Outcomes]. The time at which an outcome was taken back
// stays, since an older one of the CRM does not count.
func (s *Store) SetOutcome(
	ctx context.Context, id string, o lead.Outcome, audit ...store.AuditEntry,
) error {
	row := newOutcomeRow(o)
	if o.Value == "" {
		row = OutcomeRow{At: row.At}
	}

	return s.write(ctx, "storing an outcome", func(ctx context.Context, tx Tx) error {
		n, err := tx.Exec(ctx, setOutcome+` WHERE id = $6`, append(row.values(), id)...)
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

	row := newOutcomeRow(o)
	newest := conditions{args: row.values()}
	newest.in("mailbox", keys)
	newest.add("review = 0")

	update := conditions{args: newest.args}
	update.add("id = (SELECT id FROM leads" + newest.where() + " ORDER BY submitted_at DESC, id DESC LIMIT 1)")
	update.add("submitted_at < ?", row.At)
	update.add("outcome_at < ?", row.At)
	update.add("outcome_by = ''")

	err = s.write(ctx, "storing an outcome of the CRM", func(ctx context.Context, tx Tx) error {
		return one(ctx, tx, setOutcome+update.where()+" RETURNING id", update.args, &leadID)
	})
	return leadID, err
}
