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

// LeadRow is a lead as it is stored.
type LeadRow struct {
	ID          string
	SessionID   string
	Mailbox     string // the key of its mailbox
	Body        string // a lead.Lead as JSON
	ContentKey  string
	SubmittedAt int64 // milliseconds
	Review      int64 // released, inReview or rejected

	Outcome OutcomeRow

	// These repeat what is in the body, to select and sort by.
	Locale   string
	Source   string // the last touch's, as Campaign is
	Campaign string

	FirstSource   string
	FirstCampaign string

	Currency string
	Amount   float64 // lower bound of the range

	Owner  string // lower case
	Status int64  // index in lead.Statuses

	Progress int64 // kept by triggers on the deliveries
}

// Values of LeadRow.Review.
const (
	released = 0
	inReview = 1
	rejected = 2
)

const (
	leadColumns = `id, session_id, mailbox, body, content_key, submitted_at, review,
locale, source, campaign, first_source, first_campaign, currency, amount, owner, status`
	readColumns = leadColumns + `, ` + outcomeColumns
	selectLead  = `SELECT ` + readColumns + `, progress FROM leads`
	insertLead  = `INSERT INTO leads (` + leadColumns + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT (content_key) DO NOTHING`
	insertKey = `INSERT INTO idempotency_keys (key, lead_id, created_at) VALUES ($1, $2, $3)
ON CONFLICT (key) DO NOTHING`
)

// Submit stores a lead with its deliveries, or returns the one it repeats.
func (s *Store) Submit(
	ctx context.Context, n store.NewLead,
) (first lead.Lead, created bool, err error) {
	row, err := newLeadRow(n)
	if err != nil {
		return lead.Lead{}, false, err
	}

	err = s.write(ctx, "submitting a quote", func(ctx context.Context, tx Tx) error {
		first, created, err = submit(ctx, tx, row, n.IdempotencyKey)
		if err != nil || !created {
			return err
		}
		if err := addConsents(ctx, tx, &n.Lead); err != nil {
			return err
		}
		if err := saveNetwork(ctx, tx, first.ID, n.Network, row.SubmittedAt); err != nil {
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

// submit claims the idempotency key before the content. A second transaction with the
// same key or content waits at the unique index until the first has ended, then sees its
// row. There is therefore one lead, whatever runs at the same time.
func submit(ctx context.Context, tx Tx, row LeadRow, key string) (lead.Lead, bool, error) {
	if key != "" {
		claimed, err := tx.Exec(ctx, insertKey, key, row.ID, row.SubmittedAt)
		if err != nil {
			return lead.Lead{}, false, fmt.Errorf("claiming the idempotency key: %w", err)
		}
		if claimed == 0 {
			return ofKey(ctx, tx, key, row.ContentKey)
		}
	}

	stored, err := tx.Exec(ctx, insertLead, row.values()...)
	if err != nil {
		return lead.Lead{}, false, fmt.Errorf("storing the lead: %w", err)
	}
	if stored == 1 {
		first, err := row.lead()
		if err != nil {
			return lead.Lead{}, false, err
		}
		return first, true, addTerms(ctx, tx, first)
	}

	// It repeats an earlier lead.
	var first LeadRow
	if err := one(ctx, tx,
		selectLead+` WHERE content_key = $1`, []any{row.ContentKey}, first.columns()...); err != nil {
		return lead.Lead{}, false, fmt.Errorf("reading the first lead: %w", err)
	}

	if key != "" {
		if _, err := tx.Exec(ctx,
			`UPDATE idempotency_keys SET lead_id = $1 WHERE key = $2`, first.ID, key); err != nil {
			return lead.Lead{}, false, fmt.Errorf("remembering the idempotency key: %w", err)
		}
	}

	again, err := first.lead()
	return again, false, err
}

// ofKey returns the lead of an idempotency key, or [store.ErrKeyReused] if its
// content differs.
func ofKey(ctx context.Context, tx Tx, key, contentKey string) (lead.Lead, bool, error) {
	var first LeadRow
	err := one(ctx, tx,
		selectLead+` WHERE id = (SELECT lead_id FROM idempotency_keys WHERE key = $1)`,
		[]any{key},
		first.columns()...,
	)
	if err != nil {
		return lead.Lead{}, false, fmt.Errorf("reading the lead of the idempotency key: %w", err)
	}

	if first.ContentKey != contentKey {
		return lead.Lead{}, false, store.ErrKeyReused
	}

	again, err := first.lead()
	return again, false, err
}

// Lead returns a stored lead, or [store.ErrNotFound].
func (s *Store) Lead(ctx context.Context, id string) (lead.Lead, error) {
	var r LeadRow
	if err := one(ctx, s.db, selectLead+` WHERE id = $1`, []any{id}, r.columns()...); err != nil {
		return lead.Lead{}, fmt.Errorf("reading the lead: %w", err)
	}
	return s.whole(ctx, r)
}

// whole returns the lead of a row with what other tables have of it.
func (s *Store) whole(ctx context.Context, r LeadRow) (lead.Lead, error) {
	l, err := r.lead()
	if err != nil {
		return lead.Lead{}, err
	}
	return l, fillConsents(ctx, s.db, &l)
}

// Erase removes a lead with its deliveries, or returns [store.ErrNotFound].
func (s *Store) Erase(ctx context.Context, id string, audit ...store.AuditEntry) error {
	return s.write(ctx, "erasing a lead", func(ctx context.Context, tx Tx) error {
		n, err := erase(ctx, tx, []string{id}, false)
		if err != nil {
			return err
		}
		if n == 0 {
			return store.ErrNotFound
		}
		return appendAudit(ctx, tx, audit)
	})
}

// PruneLeads erases old leads, up to a hundred in each transaction. They are looked for
// outside of it, so that other writers do not wait.
func (s *Store) PruneLeads(ctx context.Context, before time.Time) (removed int64, err error) {
	for {
		var old conditions
		old.add("submitted_at < ?", before.UnixMilli())
		ids, err := prunable(ctx, s.db, old)
		if err != nil || len(ids) == 0 {
			return removed, err
		}

		var n int64
		err = s.write(ctx, "erasing old leads", func(ctx context.Context, tx Tx) error {
			var same conditions
			same.in("id", ids)
			still, err := prunable(ctx, tx, same)
			if err != nil {
				return err
			}
			n, err = erase(ctx, tx, still, true)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += n
	}
}

// prunable returns some of the leads that fulfil the conditions, except for those in review
// and those whose deliveries have not ended.
func prunable(ctx context.Context, db DB, c conditions) (ids []string, err error) {
	c.add("review <> 1 AND progress = 0")
	err = db.Query(ctx,
		fmt.Sprintf("SELECT id FROM leads%s ORDER BY submitted_at LIMIT %d", c.where(), chunk),
		c.args,
		func(scan Scan) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		},
	)
	if err != nil {
		return nil, fmt.Errorf("looking for old leads: %w", err)
	}
	return ids, nil
}

// erase removes leads with their keys and deliveries, and their visitors' contact form
// entries. With keep the consents that were given stay. The visitors' choices stay in the
// sessions, for the statistics. Their jobs find nothing to do.
func erase(ctx context.Context, tx Tx, ids []string, keep bool) (removed int64, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	for _, id := range ids {
		var session string
		err := one(ctx, tx, `DELETE FROM leads WHERE id = $1 RETURNING session_id`, []any{id}, &session)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("removing the lead: %w", err)
		}

		if err := forgetLead(ctx, tx, id, keep); err != nil {
			return 0, err
		}
		if _, err := tx.Exec(ctx, eraseHints+` WHERE id = $1`, session); err != nil {
			return 0, fmt.Errorf("erasing contact hints: %w", err)
		}
		removed++
	}
	return removed, nil
}

func newLeadRow(n store.NewLead) (LeadRow, error) {
	s := n.Lead
	r := LeadRow{
		ID:          s.ID,
		SessionID:   s.SessionID,
		ContentKey:  n.ContentKey,
		SubmittedAt: s.SubmittedAt.UnixMilli(),
	}
	r.repeat(s)

	if s.InReview {
		r.Review = inReview
	}
	s.Consents = slices.Clone(s.Consents)
	for i := range s.Consents { // They are rows of their own, which change.
		s.Consents[i] = lead.Consent{Purpose: s.Consents[i].Purpose}
	}
	s.InReview, s.Outcome = false, lead.Outcome{} // They change after the lead, so they have columns.

	body, err := json.Marshal(s)
	if err != nil {
		return LeadRow{}, fmt.Errorf("encoding the lead: %w", err)
	}
	r.Body = string(body)
	return r, nil
}

// repeat sets the columns that repeat what is in the body.
func (r *LeadRow) repeat(s lead.Lead) {
	r.Mailbox = mailbox.Key(s.Contact.Email)
	r.Locale = s.Locale
	r.Source, r.Campaign = s.Attribution.Source, s.Attribution.Campaign
	r.FirstSource, r.FirstCampaign = s.FirstAttribution.Source, s.FirstAttribution.Campaign
	r.Currency, r.Amount = s.Estimate.Currency, s.Estimate.Min
}

func (r *LeadRow) columns() []any {
	return slices.Concat([]any{
		&r.ID, &r.SessionID, &r.Mailbox, &r.Body, &r.ContentKey, &r.SubmittedAt, &r.Review,
		&r.Locale, &r.Source, &r.Campaign, &r.FirstSource, &r.FirstCampaign, &r.Currency, &r.Amount, &r.Owner, &r.Status,
	}, r.Outcome.columns(), []any{&r.Progress})
}

// values returns what is stored of a new lead.
func (r *LeadRow) values() []any {
	return []any{
		r.ID, r.SessionID, r.Mailbox, r.Body, r.ContentKey, r.SubmittedAt, r.Review,
		r.Locale, r.Source, r.Campaign, r.FirstSource, r.FirstCampaign, r.Currency, r.Amount, r.Owner, r.Status,
	}
}

func (r LeadRow) lead() (lead.Lead, error) {
	var s lead.Lead
	if err := json.Unmarshal([]byte(r.Body), &s); err != nil {
		return lead.Lead{}, fmt.Errorf("decoding lead %q: %w", r.ID, err)
	}

	s.SubmittedAt, s.InReview, s.Rejected =
		time.UnixMilli(r.SubmittedAt).UTC(), r.Review == inReview, r.Review == rejected
	s.Progress, s.Outcome = stateOf(r.Progress), r.Outcome.outcome()
	s.Owner, s.Status = r.Owner, lead.Statuses()[r.Status]
	return s, nil
}
