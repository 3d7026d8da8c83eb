package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// SubmissionRow is a submission as it is stored.
type SubmissionRow struct {
	ID          string
	SessionID   string
	Email       string // lower case
	Body        string // JSON
	ContentKey  string
	SubmittedAt int64 // milliseconds
	Held        int64 // 1: held for review
}

// NewSubmissionRow encodes a submission.
func NewSubmissionRow(n store.NewSubmission) (SubmissionRow, error) {
	s := n.Submission
	s.Held = false // it changes, so it has a column
	b, err := json.Marshal(s)
	if err != nil {
		return SubmissionRow{}, fmt.Errorf("encoding the submission: %w", err)
	}
	r := SubmissionRow{
		ID: s.ID, SessionID: s.SessionID, Email: strings.ToLower(s.Contact.Email), Body: string(b),
		ContentKey: n.ContentKey, SubmittedAt: s.SubmittedAt.UnixMilli(),
	}
	if n.Submission.Held {
		r.Held = 1
	}
	return r, nil
}

// submission decodes a row. The time comes from its column, which is what listings
// are ordered by.
func (r SubmissionRow) submission() (quote.Submission, error) {
	var s quote.Submission
	if err := json.Unmarshal([]byte(r.Body), &s); err != nil {
		return quote.Submission{}, fmt.Errorf("decoding submission %q: %w", r.ID, err)
	}
	s.SubmittedAt, s.Held = time.UnixMilli(r.SubmittedAt).UTC(), r.Held != 0
	return s, nil
}

const selectSubmission = `SELECT id, session_id, email, body, content_key, submitted_at, held FROM submissions`

// fields are where the columns of selectSubmission go.
func (r *SubmissionRow) fields() []any {
	return []any{&r.ID, &r.SessionID, &r.Email, &r.Body, &r.ContentKey, &r.SubmittedAt, &r.Held}
}

// Submission returns a stored submission, or [store.ErrNotFound].
func Submission(ctx context.Context, db DB, id string) (quote.Submission, error) {
	var r SubmissionRow
	if err := one(ctx, db, selectSubmission+` WHERE id = $1`, []any{id}, r.fields()...); err != nil {
		return quote.Submission{}, fmt.Errorf("reading the submission: %w", err)
	}
	return r.submission()
}

// Submissions yields stored submissions in the filter's order, read page by page.
func Submissions(ctx context.Context, db DB, f store.Filter) iter.Seq2[quote.Submission, error] {
	return func(yield func(quote.Submission, error) bool) {
		for r, err := range SubmissionRows(ctx, db, f) {
			var s quote.Submission
			if err == nil {
				s, err = r.submission()
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// SubmissionRows is [Submissions] without decoding.
func SubmissionRows(ctx context.Context, db DB, f store.Filter) iter.Seq2[SubmissionRow, error] {
	beyond, order := "(submitted_at, id) > (?, ?)", " ORDER BY submitted_at, id LIMIT "
	if f.Newest {
		beyond, order = "(submitted_at, id) < (?, ?)", " ORDER BY submitted_at DESC, id DESC LIMIT "
	}
	return func(yield func(SubmissionRow, error) bool) {
		for after := (*SubmissionRow)(nil); ; {
			c := conditions{}
			if after != nil {
				c.add(beyond, after.SubmittedAt, after.ID)
			}
			if f.Email != "" {
				c.add("email = ?", strings.ToLower(f.Email))
			}
			if f.Held {
				c.add("held = 1")
			}
			c.since("submitted_at", f.Since)
			c.until("submitted_at", f.Until)
			var page []SubmissionRow
			err := db.Query(ctx, selectSubmission+c.where()+order+pageSize, c.args,
				func(scan Scan) error {
					page = append(page, SubmissionRow{})
					return scan(page[len(page)-1].fields()...)
				})
			if err != nil {
				yield(SubmissionRow{}, fmt.Errorf("listing the submissions: %w", err))
				return
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
			after = &page[len(page)-1]
		}
	}
}
