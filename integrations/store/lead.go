package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
)

// leadRow is a lead as it is read. Its body is the lead as it was accepted.
type leadRow struct {
	Body               lead.Lead
	InReview, Rejected bool
	Progress           lead.DeliveryState
	Owner              string
	Status             lead.Status
	Outcome            lead.Outcome

	DeletionRequestedAt time.Time
	DeletionDeclinedAt  time.Time
	DeletionReason      string
	Texts               string

	FollowUpAt time.Time
	AnsweredAt time.Time
}

const (
	// leadColumns are the columns that change. Triggers on the deliveries maintain
	// progress, as the number of a state.
	leadColumns  = `review = 1 AS in_review, review = 2 AS rejected, status, ` + leadProgress + ` AS progress`
	leadProgress = `CASE progress
WHEN 1 THEN 'failed' WHEN 2 THEN 'retrying' WHEN 3 THEN 'pending' ELSE 'delivered' END`

	selectLead = `SELECT ` + leadFields + ` FROM leads`

	// selectWithTexts also reads the texts that a lead was accepted with, which are too
	// long for a listing.
	selectWithTexts = `SELECT ` + leadFields + `,
coalesce((SELECT revisions.body FROM revisions WHERE revision = leads.texts), '') AS texts FROM leads`

	leadFields = `body, owner, deletion_requested_at, deletion_declined_at, deletion_reason,
follow_up_at, answered_at, ` + leadColumns + `,
outcome AS "outcome.value", won_amount AS "outcome.amount", won_currency AS "outcome.currency",
CASE outcome WHEN '' THEN 0 ELSE outcome_at END AS "outcome.at",
coalesce((SELECT name FROM operators WHERE actor = outcome_by), outcome_by) AS "outcome.by",
lost_reason AS "outcome.loss_reason", lost_note AS "outcome.loss_note"`

	insertLead = `INSERT INTO leads (id, session_id, mailbox, body, content_key, submitted_at, review,
locale, last_source, last_campaign, first_source, first_campaign, currency, amount, project_type, texts)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT (content_key) DO NOTHING`

	insertKey = `INSERT INTO idempotency_keys (key, lead_id) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`
)

// lead returns the lead of a row.
func (r *leadRow) lead() lead.Lead {
	l := r.Body
	l.FirstAttribution = cmp.Or(l.FirstAttribution, l.Attribution)
	l.InReview, l.Rejected = r.InReview, r.Rejected
	l.Progress, l.Owner, l.Status = r.Progress, r.Owner, r.Status
	l.Outcome, l.Texts = r.Outcome, r.Texts
	l.DeletionRequestedAt = r.DeletionRequestedAt
	l.DeletionDeclinedAt, l.DeletionReason = r.DeletionDeclinedAt, r.DeletionReason
	l.FollowUpAt, l.AnsweredAt = r.FollowUpAt, r.AnsweredAt
	return l
}

// Submit stores a lead with its deliveries, or returns the one it repeats.
func (s *Store) Submit(
	ctx context.Context, n NewLead,
) (first lead.Lead, created bool, err error) {
	err = s.write(ctx, "submitting a quote", func(ctx context.Context, tx Tx) error {
		first, created, err = submit(ctx, tx, n)
		if err != nil || !created {
			return err
		}

		if err := addTerms(ctx, tx, first, ""); err != nil {
			return err
		}
		if err := addConsents(ctx, tx, first); err != nil {
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
	return first, created, err
}

// accepted returns the body to store for a lead. Its consents are stored in their own
// rows, since they may outlive it. A first attribution that is the latest, too, is stored
// once.
func accepted(l lead.Lead) lead.Lead {
	if l.FirstAttribution == l.Attribution {
		l.FirstAttribution = lead.Attribution{}
	}
	l.Consents = slices.Clone(l.Consents)
	for i, c := range l.Consents {
		l.Consents[i] = lead.Consent{Purpose: c.Purpose}
	}
	return l
}

// submit claims the idempotency key before the content. A second transaction with the
// same key or content waits at the unique index until the first one ends, and then sees
// its row. Concurrent requests therefore store one lead.
func submit(ctx context.Context, tx Tx, n NewLead) (lead.Lead, bool, error) {
	l := n.Lead
	if n.IdempotencyKey != "" {
		claimed, err := tx.Exec(ctx, insertKey, n.IdempotencyKey, l.ID)
		if err != nil {
			return lead.Lead{}, false, err
		}
		if claimed == 0 {
			content, err := one[string](ctx, tx, "reading the content of the idempotency key",
				`SELECT content_key FROM leads
WHERE id = (SELECT lead_id FROM idempotency_keys WHERE key = $1)`, n.IdempotencyKey)
			if err != nil {
				return lead.Lead{}, false, err
			}
			if content != n.ContentKey {
				return lead.Lead{}, false, ErrKeyReused
			}
		}
	}

	stored, err := tx.Exec(ctx, insertLead,
		l.ID, l.SessionID, mailbox.Key(l.Contact.Email), accepted(l), n.ContentKey, l.SubmittedAt,
		l.InReview, l.Locale, l.Attribution.Source, l.Attribution.Campaign,
		l.FirstAttribution.Source, l.FirstAttribution.Campaign, l.Estimate.Currency, l.Estimate.Min,
		l.Selections.ProjectType, n.Texts)
	if err != nil {
		return lead.Lead{}, false, err
	}
	if stored == 1 {
		return l, true, nil
	}

	// It repeats an earlier lead.
	first, err := one[leadRow](ctx, tx, "reading the first lead",
		selectWithTexts+` WHERE content_key = $1`, n.ContentKey)
	if err != nil {
		return lead.Lead{}, false, err
	}
	_, err = tx.Exec(ctx, `UPDATE idempotency_keys SET lead_id = $1 WHERE key = $2`,
		first.Body.ID, n.IdempotencyKey)
	return first.lead(), false, err
}

// HasContent reports whether a lead with a [NewLead.ContentKey] is stored.
func (s *Store) HasContent(ctx context.Context, key string) (bool, error) {
	return one[bool](ctx, s.db, "looking for the content of a lead",
		`SELECT EXISTS (SELECT 1 FROM leads WHERE content_key = $1) AS found`, key)
}

// Lead returns a stored lead, or [ErrNotFound].
func (s *Store) Lead(ctx context.Context, id string) (lead.Lead, error) {
	r, err := one[leadRow](ctx, s.db, "reading the lead", selectWithTexts+` WHERE id = $1`, id)
	if err != nil {
		return lead.Lead{}, err
	}
	found := []lead.Lead{r.lead()}
	err = complete(ctx, s.db, found)
	return found[0], err
}

const (
	consentColumns = `purpose, given, text, site_wording, withdrawn_at`

	// selectNotes shows the operator's display name.
	selectNotes = `SELECT lead_id, at, text,
coalesce((SELECT name FROM operators WHERE actor = author), author) AS author FROM lead_notes`
)

// complete reads what belongs to leads and is stored in its own rows: consents, of which a
// lead has only the purposes, notes and deliveries.
func complete(ctx context.Context, db DB, leads []lead.Lead) error {
	if len(leads) == 0 {
		return nil
	}
	byID := map[string]*lead.Lead{}
	for i := range leads {
		byID[leads[i].ID] = &leads[i]
	}
	ids := slices.Collect(maps.Keys(byID))
	var of conditions
	addIn(&of, "lead_id", ids)

	type consent struct {
		LeadID string
		lead.Consent
	}
	consents, err := all[consent](ctx, db, "reading the consents",
		`SELECT lead_id, `+consentColumns+` FROM consents`+of.where(), of.args...)
	if err != nil {
		return err
	}
	for _, c := range consents {
		own := byID[c.LeadID].Consents
		if i := slices.IndexFunc(own, func(o lead.Consent) bool { return o.Purpose == c.Purpose }); i >= 0 {
			own[i] = c.Consent
		}
	}

	type note struct {
		LeadID string
		lead.Note
	}
	notes, err := all[note](ctx, db, "reading the notes", selectNotes+of.where()+" ORDER BY id", of.args...)
	if err != nil {
		return err
	}
	for _, n := range notes {
		byID[n.LeadID].Notes = append(byID[n.LeadID].Notes, n.Note)
	}

	deliveries, err := readDeliveries(ctx, db, DeliveryFilter{Leads: ids})
	for _, d := range deliveries {
		byID[d.LeadID].Deliveries = append(byID[d.LeadID].Deliveries, d)
	}
	return err
}

// Erase removes a lead with its deliveries, or returns [ErrNotFound]. If the lead was
// announced to the webhook, its erasure is, too.
func (s *Store) Erase(ctx context.Context, id string, audit ...AuditEntry) error {
	return s.write(ctx, "erasing a lead", func(ctx context.Context, tx Tx) error {
		if err := erase(ctx, tx, id, false); err != nil {
			return err
		}
		return appendAudit(ctx, tx, audit)
	})
}

// PruneLeads erases old leads, up to [chunk] in each transaction, except for those with an
// open request for deletion, which an operator has to answer. For as long, a visitor can read
// why a request was declined.
func (s *Store) PruneLeads(ctx context.Context, before time.Time) (removed int64, err error) {
	for {
		var ids []string
		err := s.write(ctx, "erasing old leads", func(ctx context.Context, tx Tx) (err error) {
			ids, err = all[string](ctx, tx, "finding them", `SELECT id FROM leads
WHERE submitted_at < $1 AND deletion_declined_at < $1 AND review <> 1 AND progress = 0
AND NOT (`+deletionOpen+`)
ORDER BY submitted_at LIMIT $2`, before, chunk)
			if err != nil {
				return err
			}

			for _, id := range ids {
				if err := erase(ctx, tx, id, true); err != nil && !errors.Is(err, ErrNotFound) {
					return err
				}
			}
			return nil
		})

		if err != nil || len(ids) == 0 {
			return removed, err
		}
		removed += int64(len(ids))
	}
}

// erase removes a lead with its keys and deliveries, whose jobs then find nothing to do,
// and its session, unless another lead came from it, too. With keep, the consents that
// were given stay, and the session keeps its selections for statistics.
func erase(ctx context.Context, tx Tx, id string, keep bool) error {
	session, err := one[string](ctx, tx, "removing the lead",
		`DELETE FROM leads WHERE id = $1 RETURNING session_id`, id)
	if err != nil {
		return err
	}

	if _, err := tx.Exec(ctx, `DELETE FROM deliveries WHERE lead_id = $1 AND NOT `+outlivesLead(),
		id); err != nil {
		return err
	}
	if err := forgetLead(ctx, tx, id, keep); err != nil {
		return err
	}
	if !keep {
		if err := notifyErased(ctx, tx, "lead_id = $1", id); err != nil {
			return err
		}
	}
	forget := `DELETE FROM sessions WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM leads WHERE session_id = $1)`
	if keep {
		forget = eraseHints + ` WHERE id = $1`
	}
	_, err = tx.Exec(ctx, forget, session)
	return err
}
