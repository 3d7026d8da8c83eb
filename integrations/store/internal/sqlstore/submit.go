package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

const (
	insertKey = `INSERT INTO submission_keys (key, submission_id, created_at) VALUES ($1, $2, $3)
ON CONFLICT (key) DO NOTHING`
	insertSubmission = `INSERT INTO submissions (id, session_id, email, body, content_key, submitted_at, held)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (content_key) DO NOTHING`
	byKey = selectSubmission + ` WHERE id = (SELECT submission_id FROM submission_keys WHERE key = $1)`
)

// Submit stores a submission inside the transaction db, or finds the one that it
// repeats and returns that and false. An idempotency key that stands for other content
// is a [store.ErrKeyReused]; nothing is written then.
//
// The idempotency key is claimed before the content. A second transaction with the
// same key or the same content waits at the unique index until the first has ended,
// then sees its row: so there is one submission, whatever runs at the same time.
func Submit(ctx context.Context, db DB, row SubmissionRow, key string) (quote.Submission, bool, error) {
	if key != "" {
		claimed, err := db.Exec(ctx, insertKey, key, row.ID, row.SubmittedAt)
		if err != nil {
			return quote.Submission{}, false, fmt.Errorf("claiming the idempotency key: %w", err)
		}
		if claimed == 0 {
			return repeatOfKey(ctx, db, row, key)
		}
	}
	stored, err := db.Exec(ctx, insertSubmission,
		row.ID, row.SessionID, row.Email, row.Body, row.ContentKey, row.SubmittedAt, row.Held)
	if err != nil {
		return quote.Submission{}, false, fmt.Errorf("storing the submission: %w", err)
	}
	if stored == 1 {
		s, err := row.submission()
		return s, true, err
	}
	var first SubmissionRow
	err = one(ctx, db, selectSubmission+` WHERE content_key = $1`, []any{row.ContentKey}, first.fields()...)
	if err != nil {
		return quote.Submission{}, false, fmt.Errorf("reading the first submission: %w", erased(err))
	}
	if key != "" {
		_, err := db.Exec(ctx, `UPDATE submission_keys SET submission_id = $1 WHERE key = $2`, first.ID, key)
		if err != nil {
			return quote.Submission{}, false, fmt.Errorf("remembering the idempotency key: %w", err)
		}
	}
	s, err := first.submission()
	return s, false, err
}

// repeatOfKey answers a submission whose idempotency key is taken.
func repeatOfKey(ctx context.Context, db DB, row SubmissionRow, key string) (quote.Submission, bool, error) {
	var first SubmissionRow
	if err := one(ctx, db, byKey, []any{key}, first.fields()...); err != nil {
		return quote.Submission{}, false, fmt.Errorf("reading the submission of the idempotency key: %w", erased(err))
	}
	if content, _, _ := strings.Cut(first.ContentKey, imported); content != row.ContentKey {
		return quote.Submission{}, false, store.ErrKeyReused
	}
	s, err := first.submission()
	return s, false, err
}

// erased replaces [store.ErrNotFound]: what stood in the way a moment ago has been
// erased meanwhile, and the next try will succeed.
func erased(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: it is being erased", store.ErrUnavailable)
	}
	return err
}

// Erase removes a submission with its keys and deliveries inside the
// transaction db, and what the visitor typed of the contact form from the session's
// state; the choices stay for the statistics. It returns [store.ErrNotFound] if there is none.
func Erase(ctx context.Context, db DB, id string, h Hooks) error {
	var session string
	err := one(ctx, db, `SELECT session_id FROM submissions WHERE id = $1`, []any{id}, &session)
	if err != nil {
		return fmt.Errorf("finding the submission: %w", err)
	}
	for _, q := range []string{
		`DELETE FROM submission_keys WHERE submission_id = $1`,
		`DELETE FROM submissions WHERE id = $1`,
	} {
		if _, err := db.Exec(ctx, q, id); err != nil {
			return fmt.Errorf("removing the submission: %w", err)
		}
	}
	if _, err := forgetHints(ctx, db, session, ""); err != nil {
		return err
	}
	if h.Cancel == nil {
		return nil
	}
	if err := h.Cancel(id); err != nil {
		return fmt.Errorf("cancelling the deliveries: %w", err)
	}
	return nil
}
