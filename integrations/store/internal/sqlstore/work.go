package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Assign implements [store.Work].
func (s *Store) Assign(ctx context.Context, id, owner string, audit ...store.AuditEntry) (bool, error) {
	return s.change(ctx, "assigning a lead", id, audit,
		`UPDATE leads SET owner = $2 WHERE id = $1 AND owner <> $2`, strings.ToLower(owner))
}

// SetStatus implements [store.Work].
func (s *Store) SetStatus(
	ctx context.Context, id string, status lead.Status, audit ...store.AuditEntry,
) (bool, error) {
	return s.change(ctx, "changing the status of a lead", id, audit,
		`UPDATE leads SET status = $2 WHERE id = $1 AND status <> $2`, statusNumber(status))
}

// AddNote implements [store.Work].
func (s *Store) AddNote(ctx context.Context, id string, n lead.Note, audit ...store.AuditEntry) error {
	added, err := s.change(ctx, "adding a note", id, audit,
		fmt.Sprintf(`INSERT INTO lead_notes (lead_id, at, author, text)
SELECT id, $2, $3, $4 FROM leads
WHERE id = $1 AND (SELECT count(*) FROM lead_notes WHERE lead_id = $1) < %d`, store.MostNotes),
		n.At, n.Author, n.Text)
	if err == nil && !added {
		return store.ErrTooManyNotes
	}
	return err
}

// statusNumber returns a status as it is stored: its place in the usual order.
func statusNumber(s lead.Status) int64 { return int64(max(0, slices.Index(lead.Statuses(), s))) }

// change runs a statement on the lead with an id, $1. It reports whether that changed a row,
// and records it in the audit if so.
func (s *Store) change(
	ctx context.Context, doing, id string, audit []store.AuditEntry, statement string, args ...any,
) (changed bool, err error) {
	err = s.write(ctx, doing, func(ctx context.Context, tx Tx) error {
		changed, err = change(ctx, tx, id, audit, statement, args...)
		return err
	})
	return changed && err == nil, err
}

func change(
	ctx context.Context, tx Tx, id string, audit []store.AuditEntry, statement string, args ...any,
) (changed bool, err error) {
	n, err := tx.Exec(ctx, statement, append([]any{id}, args...)...)
	if err != nil {
		return false, err
	}
	if n == 0 {
		_, err := one[string](ctx, tx, "looking for the lead", `SELECT id FROM leads WHERE id = $1`, id)
		return false, err
	}
	return true, appendAudit(ctx, tx, audit)
}

const selectNotes = `SELECT lead_id, at,
coalesce((SELECT name FROM operators WHERE actor = author), author) AS author, text FROM lead_notes`

// Notes implements [store.Work].
func (s *Store) Notes(ctx context.Context, leadIDs []string) (map[string][]lead.Note, error) {
	notes := map[string][]lead.Note{}
	if len(leadIDs) == 0 {
		return notes, nil
	}

	type row struct {
		LeadID string
		lead.Note
	}
	var c conditions
	c.in("lead_id", leadIDs)
	list, err := all[row](ctx, s.db, "reading notes",
		selectNotes+c.where()+" ORDER BY id", c.args...)
	for _, r := range list {
		notes[r.LeadID] = append(notes[r.LeadID], r.Note)
	}
	return notes, err
}

// CountWork implements [store.Work].
func (s *Store) CountWork(ctx context.Context, f store.Filter) (counts []store.WorkCount, err error) {
	var c conditions
	c.match(f)
	c.search(f.Search, false)

	type row struct{ Review, Progress, Status, Number int64 }
	list, err := all[row](ctx, s.db, "counting leads",
		"SELECT review, progress, status, count(*) AS number FROM leads"+c.where()+
			" GROUP BY review, progress, status", c.args...)
	for _, r := range list {
		counts = append(counts, store.WorkCount{
			InReview: r.Review == inReview,
			Rejected: r.Review == rejected,
			Progress: stateOf(r.Progress),
			Status:   lead.Statuses()[r.Status],
			Number:   r.Number,
		})
	}
	return counts, err
}
