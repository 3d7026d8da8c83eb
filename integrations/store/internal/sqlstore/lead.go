package sqlstore

import (
	"context"
	"fmt"
	"iter"

	"siteapi/integrations/store"
)

// Lead is a submission with all that is stored beside it.
type Lead struct {
	Submission SubmissionRow
	Keys       []KeyRow
}

// KeyRow is an idempotency key.
type KeyRow struct {
	Key       string
	CreatedAt int64 // milliseconds
}

// Leads yields all submissions with what is stored beside them, oldest first.
func Leads(ctx context.Context, db DB) iter.Seq2[Lead, error] {
	return func(yield func(Lead, error) bool) {
		for row, err := range SubmissionRows(ctx, db, store.Filter{}) {
			l := Lead{Submission: row}
			if err == nil {
				err = l.read(ctx, db)
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

func (l *Lead) read(ctx context.Context, db DB) error {
	err := db.Query(ctx, `SELECT key, created_at FROM submission_keys WHERE submission_id = $1 ORDER BY key`,
		[]any{l.Submission.ID}, func(scan Scan) error {
			var k KeyRow
			err := scan(&k.Key, &k.CreatedAt)
			l.Keys = append(l.Keys, k)
			return err
		})
	if err != nil {
		return fmt.Errorf("reading the idempotency keys: %w", err)
	}
	return nil
}

// imported separates a content key from the id of the lead it was imported with.
const imported = "#"

const importSubmission = `INSERT INTO submissions (id, session_id, email, body, content_key, submitted_at, held)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`

// ImportLead stores a lead of another database inside the transaction db, and reports
// whether its submission was new here. What is there already is left as it is.
//
// A visitor may have submitted the same content here as well. Then both submissions
// are kept, since both ids have been given out: the imported one gets a content key
// that nothing repeats.
func ImportLead(ctx context.Context, db DB, l Lead) (created bool, err error) {
	s := l.Submission
	n, err := db.Exec(ctx, importSubmission, s.ID, s.SessionID, s.Email, s.Body, s.ContentKey, s.SubmittedAt, s.Held)
	if err != nil {
		return false, fmt.Errorf("storing the submission: %w", err)
	}
	if n == 0 {
		// Nothing again if it is its id that is there.
		n, err = db.Exec(ctx, importSubmission, s.ID, s.SessionID, s.Email, s.Body, s.ContentKey+imported+s.ID, s.SubmittedAt, s.Held)
		if err != nil {
			return false, fmt.Errorf("storing the submission beside its double: %w", err)
		}
	}
	for _, k := range l.Keys {
		if _, err := db.Exec(ctx, insertKey, k.Key, s.ID, k.CreatedAt); err != nil {
			return false, fmt.Errorf("storing an idempotency key: %w", err)
		}
	}
	return n == 1, nil
}

// importConflict keeps whichever of two states of a session is the later one.
const importConflict = `
ON CONFLICT (id) DO UPDATE SET
  state = excluded.state, last_seen = excluded.last_seen, visits = excluded.visits,
  first_seen = CASE WHEN excluded.first_seen < sessions.first_seen THEN excluded.first_seen ELSE sessions.first_seen END
WHERE excluded.last_seen > sessions.last_seen
  OR excluded.last_seen = sessions.last_seen AND excluded.visits > sessions.visits`

// ImportSession stores a session of another database. Its arguments are the fields of
// [SessionRow].
const ImportSession = `INSERT INTO sessions (id, state, first_seen, last_seen, visits) VALUES ($1, $2, $3, $4, $5)` + importConflict

// ImportSessions does the same with five arrays, of which no two have the same id.
// PostgreSQL only.
const ImportSessions = `INSERT INTO sessions (id, state, first_seen, last_seen, visits)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])` + importConflict
