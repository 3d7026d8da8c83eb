package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/lead"
)

// MostNotes is the maximum number of notes of a lead.
const MostNotes = 200

// ErrTooManyNotes means that a lead has [MostNotes] notes.
var ErrTooManyNotes = errors.New("the lead has too many notes")

// WorkCount is the number of leads in the same state. Progress applies to released leads
// only.
type WorkCount struct {
	InReview, Rejected bool
	Progress           lead.DeliveryState
	Status             lead.Status
	DeletionOpen       bool
	Due                bool
	Number             int64
}

// Assign makes the operator with an address the owner of leads; an empty address leaves
// them unassigned. It returns the leads that had another owner, records the audit entries
// of these, and queues a mail about them, unless notify, the hash of the address, is empty.
func (s *Store) Assign(
	ctx context.Context, ids []string, owner, notify string, audit ...AuditEntry,
) (assigned []string, err error) {
	err = s.write(ctx, "assigning leads", func(ctx context.Context, tx Tx) error {
		assigned = nil
		for _, id := range ids {
			n, err := tx.Exec(ctx, `UPDATE leads SET owner = $2 WHERE id = $1 AND owner <> $2`,
				id, strings.ToLower(owner))
			if err != nil {
				return err
			}
			if n > 0 {
				assigned = append(assigned, id)
			}
		}

		if notify != "" && len(assigned) > 0 {
			if err := tx.NotifyOwner(ctx, notify, assigned); err != nil {
				return err
			}
		}
		return appendAudit(ctx, tx, slices.DeleteFunc(slices.Clone(audit), func(e AuditEntry) bool {
			return !slices.Contains(assigned, e.Lead)
		}))
	})
	if err != nil {
		return nil, err
	}
	return assigned, nil
}

// resetAnswered forgets an answer that was only a status, which may have been set by mistake.
const resetAnswered = `UPDATE leads SET answered_at = coalesce((SELECT min(at) FROM (
  SELECT at FROM lead_notes WHERE lead_id = $1
UNION ALL SELECT at FROM audit WHERE lead = $1 AND action = 'ANSWERED'
) AS others), 0) WHERE id = $1`

// SetStatus sets the status of a lead at a time. Any status but the first one is an answer.
func (s *Store) SetStatus(
	ctx context.Context, id string, status lead.Status, at time.Time, audit ...AuditEntry,
) (bool, error) {
	then := answered(id, at)
	if status == lead.StatusNew {
		then = func(ctx context.Context, tx Tx) error {
			_, err := tx.Exec(ctx, resetAnswered, id)
			return err
		}
	}
	return s.change(ctx, "changing the status of a lead", id, audit, then,
		`UPDATE leads SET status = $2 WHERE id = $1 AND status <> $2`, status)
}

// deletionOpen is the SQL condition for [lead.Lead.DeletionOpen]. These leads are few and have
// their own index.
const deletionOpen = "deletion_requested_at > 0 AND deletion_declined_at = 0"

// RequestDeletion records that the visitor asked for the deletion of a lead, and notifies
// sales, its owner and the webhook. It returns false if that is already recorded.
func (s *Store) RequestDeletion(
	ctx context.Context, id string, at time.Time, audit ...AuditEntry,
) (bool, error) {
	return s.change(ctx, "requesting the deletion of a lead", id, audit,
		func(ctx context.Context, tx Tx) error {
			return notify(ctx, tx, id, lead.DeletionRequested, lead.EventDetail{})
		},
		`UPDATE leads SET deletion_requested_at = $2 WHERE id = $1 AND deletion_requested_at = 0`, at)
}

// DeclineDeletion ends an open request for the deletion of a lead with a reason, of which the
// visitor is notified. It returns false if there is no open request. No mail is sent about a
// lead that is in review or rejected.
func (s *Store) DeclineDeletion(
	ctx context.Context, l *lead.Lead, reason string, at time.Time, audit ...AuditEntry,
) (bool, error) {
	var mail func(context.Context, Tx) error
	if l.Released() {
		mail = func(ctx context.Context, tx Tx) error {
			return notify(ctx, tx, l.ID, lead.DeletionDeclined, lead.EventDetail{})
		}
	}
	return s.change(ctx, "declining the deletion of a lead", l.ID, audit, mail,
		`UPDATE leads SET deletion_declined_at = $2, deletion_reason = $3 WHERE id = $1 AND `+deletionOpen,
		at, reason)
}

// OpenDeletions returns the number of open requests for deletion and the time of the oldest
// one.
func (s *Store) OpenDeletions(ctx context.Context) (number int64, oldest time.Time, err error) {
	r, err := one[struct {
		Number int64
		Oldest time.Time
	}](ctx, s.db, "counting the requests for deletion",
		`SELECT count(*) AS number, coalesce(min(deletion_requested_at), 0) AS oldest FROM leads
WHERE `+deletionOpen)
	return r.Number, r.Oldest, err
}

// InReview returns the number of leads in review and the submission time of the oldest
// one.
func (s *Store) InReview(ctx context.Context) (number int64, oldest time.Time, err error) {
	r, err := one[struct {
		Number int64
		Oldest time.Time
	}](ctx, s.db, "counting the leads in review",
		`SELECT count(*) AS number, coalesce(min(submitted_at), 0) AS oldest FROM leads WHERE review = 1`)
	return r.Number, r.Oldest, err
}

// Reject ends the review of a lead without delivering it.
func (s *Store) Reject(ctx context.Context, id string, audit ...AuditEntry) (bool, error) {
	return s.change(ctx, "rejecting a lead", id, audit, nil,
		`UPDATE leads SET review = 2 WHERE id = $1 AND review = 1`)
}

// Release ends the review of a lead, or revokes its rejection, and creates its
// deliveries.
func (s *Store) Release(
	ctx context.Context, id string, undecided bool, audit ...AuditEntry,
) (released bool, err error) {
	condition := "review > 0"
	if undecided {
		condition = "review = 1"
	}
	return s.change(ctx, "releasing a lead", id, audit,
		func(_ context.Context, tx Tx) error {
			*tx.Submitted = append(*tx.Submitted, id)
			return nil
		},
		`UPDATE leads SET review = 0 WHERE id = $1 AND `+condition)
}

// AddNote adds a note to a lead, which is an answer. It is erased with the lead.
func (s *Store) AddNote(ctx context.Context, id string, n lead.Note, audit ...AuditEntry) error {
	added, err := s.change(ctx, "adding a note", id, audit, answered(id, n.At),
		`INSERT INTO lead_notes (lead_id, at, author, text) SELECT id, $2, $3, $4 FROM leads
WHERE id = $1 AND (SELECT count(*) FROM lead_notes WHERE lead_id = $1) < $5`,
		n.At, n.Author, n.Text, MostNotes)
	if err == nil && !added {
		return ErrTooManyNotes
	}
	return err
}

// answered returns a function that stores when a person answered a lead, unless one
// answered it before.
func answered(id string, at time.Time) func(context.Context, Tx) error {
	return func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `UPDATE leads SET answered_at = $2 WHERE id = $1 AND answered_at = 0`, id, at)
		return err
	}
}

// SetAnswered stores when a person first answered a lead, as with a mail, and records the
// first such answer in the audit, also of a lead that a status or a note answered before. It
// returns false if that is already recorded.
func (s *Store) SetAnswered(ctx context.Context, id string, at time.Time, audit ...AuditEntry) (bool, error) {
	return s.change(ctx, "storing the first answer to a lead", id, audit, nil,
		`UPDATE leads SET answered_at = CASE answered_at WHEN 0 THEN $2 ELSE answered_at END
WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM audit WHERE lead = $1 AND action = 'ANSWERED')`, at)
}

// due is the SQL condition for leads whose time of the follow-up has come. They are few and
// have their own index.
const due = "follow_up_at > 0 AND follow_up_at <= (SELECT now FROM clock)"

// SetFollowUp stores from when an operator wants to come back to a lead; the zero time:
// never.
func (s *Store) SetFollowUp(ctx context.Context, id string, at time.Time, audit ...AuditEntry) (bool, error) {
	return s.change(ctx, "storing the follow-up of a lead", id, audit, nil,
		`UPDATE leads SET follow_up_at = $2 WHERE id = $1 AND follow_up_at <> $2`, at)
}

// change runs a statement on the lead with an id, $1. It reports whether that changed a
// row, and in that case records it in the audit and calls then, if it is not nil, before
// the commit.
func (s *Store) change(
	ctx context.Context, action, id string, audit []AuditEntry, then func(context.Context, Tx) error,
	statement string, args ...any,
) (changed bool, err error) {
	err = s.write(ctx, action, func(ctx context.Context, tx Tx) error {
		n, err := tx.Exec(ctx, statement, append([]any{id}, args...)...)
		if changed = n > 0; err != nil {
			return err
		}
		if !changed {
			return exists(ctx, tx, id)
		}

		if then != nil {
			if err := then(ctx, tx); err != nil {
				return err
			}
		}
		return appendAudit(ctx, tx, audit)
	})
	return changed && err == nil, err
}

// exists returns [ErrNotFound] unless a lead with the id exists.
func exists(ctx context.Context, tx Tx, id string) error {
	_, err := one[string](ctx, tx, "finding the lead", `SELECT id FROM leads WHERE id = $1`, id)
	return err
}

// CountWork counts the leads that match a filter, ignoring its position and limit.
func (s *Store) CountWork(ctx context.Context, f Filter) ([]WorkCount, error) {
	var c conditions
	c.match(f)
	c.search(f.Search, false)
	return all[WorkCount](ctx, s.db, "counting leads",
		"SELECT "+leadColumns+", ("+deletionOpen+") AS deletion_open, ("+due+") AS due, "+
			"count(*) AS number FROM leads"+c.where()+
			" GROUP BY review, leads.progress, status, deletion_open, due", c.args...)
}
