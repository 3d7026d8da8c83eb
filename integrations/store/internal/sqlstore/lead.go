package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/store"
)

// leadRow is what is read of a lead. Its body is the lead as it was accepted.
type leadRow struct {
	Body        document[lead.Lead]
	ContentKey  string
	SubmittedAt time.Time
	Review      int64
	Progress    int64 // kept by triggers on the deliveries
	Owner       string
	Status      int64 // index in lead.Statuses

	Outcome     lead.OutcomeValue // empty: not known
	WonAmount   *float64
	WonCurrency string
	OutcomeAt   time.Time
	OutcomeBy   string // as the operator is shown
}

// Values of leadRow.Review. It is 0 for leads that were released, or never in review.
const (
	inReview = 1
	rejected = 2
)

const (
	selectLead = `SELECT body, content_key, submitted_at, review, progress, owner, status,
outcome, won_amount, won_currency, outcome_at,
coalesce((SELECT name FROM operators WHERE actor = outcome_by), outcome_by) AS outcome_by FROM leads`

	insertLead = `INSERT INTO leads (id, session_id, mailbox, body, content_key, submitted_at, review,
locale, source, campaign, first_source, first_campaign, currency, amount)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (content_key) DO NOTHING`

	insertKey = `INSERT INTO idempotency_keys (key, lead_id, created_at) VALUES ($1, $2, $3)
ON CONFLICT (key) DO NOTHING`
)

// lead returns the lead of a row.
func (r *leadRow) lead() lead.Lead {
	l := r.Body.value
	l.SubmittedAt = r.SubmittedAt
	l.InReview, l.Rejected = r.Review == inReview, r.Review == rejected
	l.Progress = stateOf(r.Progress)
	l.Owner, l.Status = r.Owner, lead.Statuses()[r.Status]

	if r.Outcome != "" {
		l.Outcome = lead.Outcome{
			Value:    r.Outcome,
			Amount:   r.WonAmount,
			Currency: r.WonCurrency,
			At:       r.OutcomeAt,
			By:       r.OutcomeBy,
		}
	}
	return l
}

// Submit stores a lead with its deliveries, or returns the one it repeats.
func (s *Store) Submit(
	ctx context.Context, n store.NewLead,
) (first lead.Lead, created bool, err error) {
	body, err := encodeLead(n.Lead)
	if err != nil {
		return lead.Lead{}, false, err
	}

	err = s.write(ctx, "submitting a quote", func(ctx context.Context, tx Tx) error {
		first, created, err = submit(ctx, tx, n, body)
		if err != nil || !created {
			return err
		}

		if err := addTerms(ctx, tx, first); err != nil {
			return err
		}
		if err := addConsents(ctx, tx, &n.Lead); err != nil {
			return err
		}
		if err := saveNetwork(ctx, tx, n); err != nil {
			return err
		}
		if !first.InReview {
			*tx.Submitted = append(*tx.Submitted, first.ID)
		}
		return nil
	})
	if err != nil {
		return lead.Lead{}, false, err
	}
	return first, created, nil
}

// encodeLead returns what is stored of a lead as it was accepted. What changes later has
// columns or rows of its own.
func encodeLead(l lead.Lead) (string, error) {
	l.Consents = slices.Clone(l.Consents)
	for i, c := range l.Consents {
		l.Consents[i] = lead.Consent{Purpose: c.Purpose}
	}
	l.InReview, l.Outcome = false, lead.Outcome{}

	body, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("encoding the lead: %w", err)
	}
	return string(body), nil
}

// submit claims the idempotency key before the content. A second transaction with the
// same key or content waits at the unique index until the first has ended, then sees its
// row. There is therefore one lead, whatever runs at the same time.
func submit(ctx context.Context, tx Tx, n store.NewLead, body string) (lead.Lead, bool, error) {
	l := n.Lead
	if n.IdempotencyKey != "" {
		claimed, err := tx.Exec(ctx, insertKey, n.IdempotencyKey, l.ID, l.SubmittedAt)
		if err != nil {
			return lead.Lead{}, false, fmt.Errorf("claiming the idempotency key: %w", err)
		}
		if claimed == 0 {
			first, err := ofKey(ctx, tx, n)
			return first, false, err
		}
	}

	review := 0
	if l.InReview {
		review = inReview
	}
	stored, err := tx.Exec(ctx, insertLead, l.ID, l.SessionID, mailbox.Key(l.Contact.Email), body, n.ContentKey,
		l.SubmittedAt, review, l.Locale, l.Attribution.Source, l.Attribution.Campaign,
		l.FirstAttribution.Source, l.FirstAttribution.Campaign, l.Estimate.Currency, l.Estimate.Min)
	if err != nil {
		return lead.Lead{}, false, fmt.Errorf("storing the lead: %w", err)
	}
	if stored == 1 {
		return l, true, nil
	}

	// It repeats an earlier lead.
	first, err := one[leadRow](ctx, tx, "reading the first lead", selectLead+` WHERE content_key = $1`, n.ContentKey)
	if err != nil {
		return lead.Lead{}, false, err
	}
	_, err = tx.Exec(ctx, `UPDATE idempotency_keys SET lead_id = $1 WHERE key = $2`,
		first.Body.value.ID, n.IdempotencyKey)
	if err != nil {
		return lead.Lead{}, false, fmt.Errorf("remembering the idempotency key: %w", err)
	}
	return first.lead(), false, nil
}

// ofKey returns the lead of an idempotency key, or [store.ErrKeyReused] if its
// content differs.
func ofKey(ctx context.Context, tx Tx, n store.NewLead) (lead.Lead, error) {
	first, err := one[leadRow](ctx, tx, "reading the lead of the idempotency key",
		selectLead+` WHERE id = (SELECT lead_id FROM idempotency_keys WHERE key = $1)`, n.IdempotencyKey)
	if err != nil {
		return lead.Lead{}, err
	}
	if first.ContentKey != n.ContentKey {
		return lead.Lead{}, store.ErrKeyReused
	}
	return first.lead(), nil
}

// Lead returns a stored lead, or [store.ErrNotFound].
func (s *Store) Lead(ctx context.Context, id string) (lead.Lead, error) {
	r, err := one[leadRow](ctx, s.db, "reading the lead", selectLead+` WHERE id = $1`, id)
	if err != nil {
		return lead.Lead{}, err
	}
	l := r.lead()
	return l, fillConsents(ctx, s.db, &l)
}

// Erase removes a lead with its deliveries, or returns [store.ErrNotFound].
func (s *Store) Erase(ctx context.Context, id string, audit ...store.AuditEntry) error {
	return s.write(ctx, "erasing a lead", func(ctx context.Context, tx Tx) error {
		if err := erase(ctx, tx, id, false); err != nil {
			return err
		}
		return appendAudit(ctx, tx, audit)
	})
}

// PruneLeads erases old leads, up to a hundred in each transaction. They are looked for
// outside of it, so that other writers do not wait.
func (s *Store) PruneLeads(ctx context.Context, before time.Time) (removed int64, err error) {
	for {
		var old conditions
		old.add("submitted_at < ?", before)
		ids, err := prunable(ctx, s.db, old)
		if err != nil || len(ids) == 0 {
			return removed, err
		}

		var still []string
		err = s.write(ctx, "erasing old leads", func(ctx context.Context, tx Tx) error {
			var same conditions
			same.in("id", ids)
			if still, err = prunable(ctx, tx, same); err != nil {
				return err
			}
			for _, id := range still {
				if err := erase(ctx, tx, id, true); err != nil && !errors.Is(err, store.ErrNotFound) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return removed, err
		}
		removed += int64(len(still))
	}
}

// prunable returns some of the leads that fulfil the conditions, except for those in review
// and those whose deliveries have not ended.
func prunable(ctx context.Context, db DB, c conditions) (ids []string, err error) {
	c.add("review <> 1 AND progress = 0")
	return all[string](ctx, db, "looking for old leads",
		fmt.Sprintf("SELECT id FROM leads%s ORDER BY submitted_at LIMIT %d", c.where(), chunk), c.args...)
}

// erase removes a lead with its keys and deliveries, whose jobs find nothing to do, and its
// visitor's contact form entries. With keep the consents that were given stay. The choices
// stay in the session, for the statistics.
func erase(ctx context.Context, tx Tx, id string, keep bool) error {
	session, err := one[string](ctx, tx, "removing the lead",
		`DELETE FROM leads WHERE id = $1 RETURNING session_id`, id)
	if err != nil {
		return err
	}

	if err := forgetLead(ctx, tx, id, keep); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, eraseHints+` WHERE id = $1`, session); err != nil {
		return fmt.Errorf("erasing contact hints: %w", err)
	}
	return nil
}
