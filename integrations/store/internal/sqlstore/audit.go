package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"siteapi/integrations/store"
)

const (
	auditColumns = `seq, at, actor, action, lead, detail, hash`
	selectAudit  = `SELECT ` + auditColumns + `,
coalesce((SELECT name FROM operators WHERE operators.actor = audit.actor), actor) AS name FROM audit`
	nameOperator = ` ON CONFLICT (actor) DO UPDATE SET name = excluded.name WHERE operators.name <> excluded.name`

	// lockAudit makes the transactions that append take turns, on PostgreSQL as well.
	lockAudit = `UPDATE audit_ends SET seq = seq WHERE name = 'head' RETURNING seq, hash`
)

// Names of the ends of the chain.
const (
	auditHead   = "head"
	auditAnchor = "anchor" // the last entry that was removed because of its age
)

// auditEnd is one of the ends of the chain.
type auditEnd struct {
	Seq  int64
	Hash string
}

// Record implements [store.Audit].
func (s *Store) Record(ctx context.Context, entries ...store.AuditEntry) error {
	return s.write(ctx, "recording in the audit", func(ctx context.Context, tx Tx) error {
		return appendAudit(ctx, tx, entries)
	})
}

// appendAudit appends entries in the transaction of what they record.
func appendAudit(ctx context.Context, tx Tx, entries []store.AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}

	head, err := one[auditEnd](ctx, tx, "locking the audit", lockAudit)
	if err != nil {
		return err
	}

	var values []any
	for _, e := range entries {
		e.Seq = head.Seq + 1
		e.Hash = auditHash(head.Hash, e)
		values = append(values, e.Seq, e.At, e.Actor, e.Action, e.Lead, e.Detail, e.Hash)
		if e.Name != "" {
			if err := insertRows(ctx, tx, "operators", "actor, name", []any{e.Actor, e.Name}, nameOperator); err != nil {
				return fmt.Errorf("naming the operator: %w", err)
			}
		}
		head = auditEnd{e.Seq, e.Hash}
	}
	if err := insertRows(ctx, tx, "audit", auditColumns, values, ""); err != nil {
		return fmt.Errorf("appending to the audit: %w", err)
	}
	return setEnd(ctx, tx, auditHead, head)
}

func setEnd(ctx context.Context, tx Tx, name string, end auditEnd) error {
	_, err := tx.Exec(ctx, `UPDATE audit_ends SET seq = $1, hash = $2 WHERE name = $3`, end.Seq, end.Hash, name)
	return err
}

// Operators implements [store.Audit].
func (s *Store) Operators(ctx context.Context) ([]string, error) {
	return all[string](ctx, s.db, "reading the operators", `SELECT DISTINCT name FROM operators ORDER BY name`)
}

// auditHash returns the hash of an entry that follows one with the hash previous.
func auditHash(previous string, e store.AuditEntry) string {
	// Encoding texts and numbers does not fail.
	text, _ := json.Marshal([]any{previous, e.Seq, e.At.UnixMilli(), e.Actor, e.Action, e.Lead, e.Detail})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// AuditEntries implements [store.Audit].
func (s *Store) AuditEntries(ctx context.Context, f store.AuditFilter) ([]store.AuditEntry, error) {
	var c conditions
	if f.Lead != "" {
		c.add("lead = ?", f.Lead)
	}
	if f.Before > 0 {
		c.add("seq < ?", f.Before)
	}
	return readAudit(ctx, s.db, fmt.Sprintf("%s ORDER BY seq DESC LIMIT %d", c.where(), f.Limit), c.args...)
}

func readAudit(ctx context.Context, db DB, which string, args ...any) ([]store.AuditEntry, error) {
	return all[store.AuditEntry](ctx, db, "reading the audit", selectAudit+which, args...)
}

// auditChain yields all entries, the oldest first.
func (s *Store) auditChain(ctx context.Context) iter.Seq2[store.AuditEntry, error] {
	return pages(func(after *store.AuditEntry) ([]store.AuditEntry, error) {
		last := int64(0)
		if after != nil {
			last = after.Seq
		}
		return readAudit(ctx, s.db, fmt.Sprintf(" WHERE seq > $1 ORDER BY seq LIMIT %d", pageSize), last)
	})
}

func readEnd(ctx context.Context, db DB, name string) (auditEnd, error) {
	return one[auditEnd](ctx, db, "reading an end of the audit", `SELECT seq, hash FROM audit_ends WHERE name = $1`, name)
}

// AuditHead implements [store.Audit].
func (s *Store) AuditHead(ctx context.Context) (seq int64, hash string, err error) {
	head, err := readEnd(ctx, s.db, auditHead)
	return head.Seq, head.Hash, err
}

// VerifyAudit implements [store.Audit]. It begins anew if old entries were removed meanwhile.
func (s *Store) VerifyAudit(ctx context.Context, head string) (store.AuditReport, error) {
	for {
		anchor, err := readEnd(ctx, s.db, auditAnchor)
		if err != nil {
			return store.AuditReport{}, err
		}
		r, err := s.verifyFrom(ctx, anchor, head)
		if err != nil || r.Problem == "" {
			return r, err
		}

		now, err := readEnd(ctx, s.db, auditAnchor)
		if err != nil || now == anchor {
			return r, err
		}
	}
}

// verifyFrom verifies the entries that follow an anchor.
func (s *Store) verifyFrom(ctx context.Context, anchor auditEnd, head string) (r store.AuditReport, err error) {
	last := anchor
	stored, err := readEnd(ctx, s.db, auditHead)
	if err != nil {
		return r, err
	}

	found := head == "" || head == last.Hash
	anchored := last.Seq == 0
	for e, err := range s.auditChain(ctx) {
		if err != nil {
			return r, err
		}

		switch {
		case e.Seq != last.Seq+1:
			r.Problem = fmt.Sprintf("entry %d is missing", last.Seq+1)
			return r, nil
		case e.Hash != auditHash(last.Hash, e):
			r.Problem = fmt.Sprintf("entry %d was changed, or one before it", e.Seq)
			return r, nil
		}
		if e.Action == store.Pruned {
			anchored = tellsOf(e, anchor)
		}
		last = auditEnd{e.Seq, e.Hash}
		found = found || head == e.Hash
		r.Entries++
	}

	r.Seq, r.Head = last.Seq, last.Hash
	switch {
	case !anchored:
		r.Problem = fmt.Sprintf("the entries up to %d are missing, and no entry says that they were too old", anchor.Seq)
	case last.Seq < stored.Seq: // there may be more than that: entries that were made meanwhile
		r.Problem = fmt.Sprintf("the entries after %d are missing", last.Seq)
	case last.Seq == stored.Seq && last.Hash != stored.Hash:
		r.Problem = fmt.Sprintf("entry %d is not the one that was recorded last", last.Seq)
	case !found:
		r.Problem = "no entry has the hash that was given as the head: entries were cut off or replaced, " +
			"or it is older than AUDIT_RETENTION"
	}
	return r, nil
}

// tellsOf reports whether an entry about removed entries names the anchor of the chain, and
// whether these were old enough then.
func tellsOf(e store.AuditEntry, anchor auditEnd) bool {
	var d store.PrunedDetail
	if err := json.Unmarshal([]byte(e.Detail), &d); err != nil {
		return false
	}
	retention, err := time.ParseDuration(d.Retention)
	return err == nil && auditEnd{d.Entry, d.Hash} == anchor && d.At.Before(e.At.Add(-retention))
}

// PruneAudit implements [store.Audit]. It stops at the first entry that stays, so that a
// clock that was set back makes no gap.
func (s *Store) PruneAudit(
	ctx context.Context, retention time.Duration, now time.Time,
) (anchor store.AuditEntry, err error) {
	err = s.write(ctx, "removing old entries of the audit", func(ctx context.Context, tx Tx) error {
		anchor = store.AuditEntry{}
		if _, err := one[auditEnd](ctx, tx, "locking it", lockAudit); err != nil {
			return err
		}

		old, err := readAudit(ctx, tx, ` WHERE seq <
coalesce((SELECT min(seq) FROM audit WHERE at >= $1), (SELECT seq + 1 FROM audit_ends WHERE name = 'head'))
ORDER BY seq DESC LIMIT 1`, now.Add(-retention))
		if err != nil || len(old) == 0 {
			return err
		}
		anchor = old[0]

		if _, err := tx.Exec(ctx, `DELETE FROM audit WHERE seq <= $1`, anchor.Seq); err != nil {
			return err
		}
		if err := setEnd(ctx, tx, auditAnchor, auditEnd{anchor.Seq, anchor.Hash}); err != nil {
			return err
		}

		// Encoding texts and numbers does not fail.
		detail, _ := json.Marshal(store.PrunedDetail{
			Entry:     anchor.Seq,
			Hash:      anchor.Hash,
			At:        anchor.At,
			Retention: retention.String(),
		})
		return appendAudit(ctx, tx, []store.AuditEntry{
			{At: now, Actor: "service", Action: store.Pruned, Detail: string(detail)},
		})
	})
	return anchor, err
}
