package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Assign implements [store.Work].
func (s *Store) Assign(ctx context.Context, id, owner string, audit ...store.AuditEntry) (bool, error) {
	return s.work(ctx, "assigning a lead", id, audit,
		`UPDATE leads SET owner = $2 WHERE id = $1 AND owner <> $2`, strings.ToLower(owner))
}

// SetStatus implements [store.Work].
func (s *Store) SetStatus(
	ctx context.Context, id string, status lead.Status, audit ...store.AuditEntry,
) (bool, error) {
	return s.work(ctx, "changing the status of a lead", id, audit,
		`UPDATE leads SET status = $2 WHERE id = $1 AND status <> $2`, statusNumber(status))
}

// AddNote implements [store.Work].
func (s *Store) AddNote(ctx context.Context, id string, n lead.Note, audit ...store.AuditEntry) error {
	added, err := s.work(ctx, "adding a note", id, audit,
		fmt.Sprintf(`INSERT INTO lead_notes (lead_id, at, author, text)
SELECT id, $2, $3, $4 FROM leads
WHERE id = $1 AND (SELECT count(*) FROM lead_notes WHERE lead_id = $1) < %d`, store.MostNotes),
		n.At.UnixMilli(), n.Author, n.Text)
	if err == nil && !added {
		err = store.ErrTooManyNotes
	}
	return err
}

// statusNumber returns a status as it is stored: its place in the usual order.
func statusNumber(s lead.Status) int64 { return int64(max(0, slices.Index(lead.Statuses(), s))) }

// work runs a statement on the lead with an id, $1. It reports whether that changed a row,
// and records it in the audit if so.
func (s *Store) work(
	ctx context.Context, doing, id string, audit []store.AuditEntry, statement string, args ...any,
) (changed bool, err error) {
	err = s.write(ctx, doing, func(ctx context.Context, tx Tx) error {
		n, err := tx.Exec(ctx, statement, append([]any{id}, args...)...)
		if changed = n == 1; err == nil && changed {
			return appendAudit(ctx, tx, audit)
		}
		if err == nil {
			err = one(ctx, tx, `SELECT id FROM leads WHERE id = $1`, []any{id}, new(string))
		}
		return err
	})
	return changed && err == nil, err
}

// Notes implements [store.Work].
func (s *Store) Notes(ctx context.Context, leadIDs []string) (map[string][]lead.Note, error) {
	notes := map[string][]lead.Note{}
	if len(leadIDs) == 0 {
		return notes, nil
	}

	var c conditions
	c.in("lead_id", leadIDs)
	err := s.db.Query(ctx, "SELECT lead_id, at, author, text FROM lead_notes"+c.where()+" ORDER BY id", c.args,
		func(scan Scan) error {
			var id string
			var at int64
			var n lead.Note
			err := scan(&id, &at, &n.Author, &n.Text)
			n.At = time.UnixMilli(at).UTC()
			notes[id] = append(notes[id], n)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("reading notes: %w", err)
	}
	return notes, nil
}

// matchWork adds the conditions of a filter on the columns that repeat the body, and on how
// operators work on a lead.
func (c *conditions) matchWork(f store.Filter) {
	if f.Owner != nil {
		c.add("owner = ?", strings.ToLower(*f.Owner))
	}
	if f.Status != "" {
		c.add("status = ?", statusNumber(f.Status))
	}

	if f.Locale != "" {
		c.add("locale = ?", f.Locale)
	}
	if f.Source != nil {
		c.add("source = ?", *f.Source)
	}

	if f.Currency != "" {
		c.add("currency = ?", f.Currency)
	}
	if f.AtLeast != nil {
		c.add("amount >= ?", *f.AtLeast)
	}
	if f.AtMost != nil {
		c.add("amount <= ?", *f.AtMost)
	}
}

// CountWork implements [store.Work].
func (s *Store) CountWork(ctx context.Context, f store.Filter) (counts []store.WorkCount, err error) {
	var c conditions
	c.match(f)
	c.search(f.Search, false)
	err = s.db.Query(ctx, "SELECT review, progress, status, count(*) FROM leads"+c.where()+
		" GROUP BY review, progress, status", c.args,
		func(scan Scan) error {
			var n store.WorkCount
			var review, progress, status int64
			err := scan(&review, &progress, &status, &n.Number)
			n.Progress = stateOf(progress)
			n.Status = lead.Statuses()[status]
			n.InReview, n.Rejected = review == inReview, review == rejected
			counts = append(counts, n)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("counting leads: %w", err)
	}
	return counts, nil
}
