package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// AuditEntry records one action of an operator. It holds ids, never contact data, and
// outlives the erasure of the lead.
type AuditEntry struct {
	Seq    int64 // 1, 2, 3 … without a gap
	At     time.Time
	Actor  string // "token", "oidc:<subject of an account>" or "command:<user of the system>"
	Action string
	Lead   string // id of the lead; empty: none, or several
	Detail string // JSON
	Hash   string // hash over the previous entry's hash and this entry

	// Name is the actor's display name, for example a verified address. It is stored
	// outside the chain, and the latest one applies to all entries of the actor. Without
	// one, it is the actor.
	Name string
}

// Pruned is the action of an entry that records the removal of expired entries.
// Verification compares the beginning of the chain with it.
const Pruned = "PRUNED"

// PrunedDetail is the detail of a [Pruned] entry: the last entry that was removed.
type PrunedDetail struct {
	Entry     int64     `json:"entry"`
	Hash      string    `json:"hash"`
	At        time.Time `json:"at"`
	Retention string    `json:"retention"` // duration, such as 720h0m0s
}

// AuditFilter narrows a listing of the audit, newest entries first.
type AuditFilter struct {
	Leads    []string // only entries of these leads; empty: all entries
	Action   string   // only this action; empty: all
	Operator string   // only the operator with this name or actor; empty: all
	Since    time.Time
	Until    time.Time // exclusive; zero: no end
	Before   int64     // only entries with a lower number; 0: all
	Limit    int
}

// AuditReport is the result of verifying the audit.
type AuditReport struct {
	Entries int64
	Seq     int64  // number of the last entry
	Head    string // hash of the last entry
	Problem string // the first problem found; empty: none
}

const (
	auditColumns = `seq, at, actor, action, lead, detail, hash`
	selectAudit  = `SELECT ` + auditColumns + `,
coalesce((SELECT name FROM operators WHERE operators.actor = audit.actor), actor) AS name FROM audit`
	nameOperator = `INSERT INTO operators (actor, name) VALUES ($1, $2)
ON CONFLICT (actor) DO UPDATE SET name = excluded.name WHERE operators.name <> excluded.name`

	// lockAudit serializes the transactions that append, on PostgreSQL as well.
	lockAudit  = `UPDATE audit_head SET seq = seq RETURNING seq, hash`
	selectHead = `SELECT seq, hash FROM audit_head`
)

// Record appends entries. The store assigns their numbers and hashes.
func (s *Store) Record(ctx context.Context, entries ...AuditEntry) error {
	return s.write(ctx, "recording in the audit", func(ctx context.Context, tx Tx) error {
		return appendAudit(ctx, tx, entries)
	})
}

// appendAudit appends entries in the transaction of the recorded change.
func appendAudit(ctx context.Context, tx Tx, entries []AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}

	last, err := one[AuditEntry](ctx, tx, "locking the audit", lockAudit)
	if err != nil {
		return err
	}

	var values []any
	for _, e := range entries {
		e.Seq, e.Hash = last.Seq+1, auditHash(last, e)
		values = append(values, e.Seq, e.At, e.Actor, e.Action, e.Lead, e.Detail, e.Hash)
		if e.Name != "" {
			if _, err := tx.Exec(ctx, nameOperator, e.Actor, e.Name); err != nil {
				return err
			}
		}
		last = e
	}
	if err := insertRows(ctx, tx, "audit", auditColumns, values, ""); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE audit_head SET seq = $1, hash = $2`, last.Seq, last.Hash)
	return err
}

// Operators returns the display names recorded with entries, in alphabetical order.
func (s *Store) Operators(ctx context.Context) ([]string, error) {
	return all[string](ctx, s.db, "reading the operators",
		`SELECT DISTINCT name FROM operators ORDER BY name`)
}

// auditHash returns the hash of an entry that follows a previous one.
func auditHash(previous, e AuditEntry) string {
	// Encoding strings and numbers cannot fail.
	text, _ := json.Marshal([]any{
		previous.Hash, previous.Seq + 1, e.At.UnixMilli(), e.Actor, e.Action, e.Lead, e.Detail,
	})
	return digest(string(text))
}

// AuditedLeads returns the ids in the audit that begin with a reference, ignoring case.
func (s *Store) AuditedLeads(ctx context.Context, reference string) ([]string, error) {
	reference = strings.ToLower(reference)
	return all[string](ctx, s.db, "finding a lead in the audit",
		`SELECT DISTINCT lead FROM audit WHERE lead BETWEEN $1 AND $2`, reference, reference+"~")
}

// AuditEntries returns a page of the audit.
func (s *Store) AuditEntries(ctx context.Context, f AuditFilter) ([]AuditEntry, error) {
	var c conditions
	givenIn(&c, "lead", f.Leads)
	c.given("action = ?", f.Action)
	if f.Operator != "" {
		c.add("actor IN (SELECT actor FROM operators WHERE name = ? UNION SELECT ?)", f.Operator, f.Operator)
	}
	c.given("at >= ?", f.Since)
	c.given("at < ?", f.Until)
	c.given("seq < ?", f.Before)
	return readAudit(ctx, s.db, fmt.Sprintf("%s ORDER BY seq DESC LIMIT %d", c.where(), f.Limit), c.args...)
}

func readAudit(ctx context.Context, db DB, which string, args ...any) ([]AuditEntry, error) {
	return all[AuditEntry](ctx, db, "reading the audit", selectAudit+which, args...)
}

// AuditHead returns the number and hash of the last entry; the number is 0 if there is
// none.
func (s *Store) AuditHead(ctx context.Context) (seq int64, hash string, err error) {
	head, err := one[AuditEntry](ctx, s.db, "reading the head of the audit", selectHead)
	return head.Seq, head.Hash, err
}

// VerifyAudit detects changed and removed entries. A non-empty head must be the hash of
// an entry, which proves that the chain up to that entry was not replaced. If the chain
// appears damaged, it is verified again, since expired entries may have been removed
// during the first read.
func (s *Store) VerifyAudit(ctx context.Context, head string) (AuditReport, error) {
	r, err := s.verifyAudit(ctx, head)
	if err == nil && r.Problem != "" {
		r, err = s.verifyAudit(ctx, head)
	}
	return r, err
}

func (s *Store) verifyAudit(ctx context.Context, head string) (r AuditReport, err error) {
	seq, hash, err := s.AuditHead(ctx)
	if err != nil {
		return r, err
	}
	pruned, err := readAudit(ctx, s.db, ` WHERE action = $1 ORDER BY seq DESC LIMIT 1`, Pruned)
	if err != nil {
		return r, err
	}

	var last AuditEntry // the predecessor of the next entry
	if len(pruned) > 0 {
		last = lastRemoved(pruned[0])
	}
	found := head == "" || head == last.Hash
	for {
		page, err := readAudit(ctx, s.db, ` WHERE seq > $1 ORDER BY seq LIMIT $2`, last.Seq, pageSize)
		if err != nil {
			return r, err
		}
		if len(page) == 0 {
			break
		}

		for _, e := range page {
			if e.Seq != last.Seq+1 {
				r.Problem = fmt.Sprintf("entry %d is missing, although retention did not remove it",
					last.Seq+1)
				return r, nil
			}
			if e.Hash != auditHash(last, e) {
				r.Problem = fmt.Sprintf("entry %d or an earlier one was changed", e.Seq)
				return r, nil
			}
			last = e
			found = found || head == e.Hash
			r.Entries++
		}
	}

	r.Seq, r.Head = last.Seq, last.Hash
	switch {
	case last.Seq < seq: // last.Seq may be greater: entries may have been recorded since
		r.Problem = fmt.Sprintf("the entries after %d are missing", last.Seq)
	case last.Seq == seq && last.Hash != hash:
		r.Problem = fmt.Sprintf("the hash of entry %d differs from the recorded head", last.Seq)
	case !found:
		r.Problem = "no entry matches the given head hash: entries were cut off or replaced, " +
			"or the head is older than AUDIT_RETENTION"
	}
	return r, nil
}

// lastRemoved returns the number and hash of the last entry that a [Pruned] entry
// removed, or zero values if the removed entry had not expired.
func lastRemoved(e AuditEntry) (removed AuditEntry) {
	var d PrunedDetail
	if err := json.Unmarshal([]byte(e.Detail), &d); err != nil {
		return removed
	}
	retention, err := time.ParseDuration(d.Retention)
	if err == nil && d.At.Before(e.At.Add(-retention)) {
		removed.Seq, removed.Hash = d.Entry, d.Hash
	}
	return removed
}

// PruneAudit removes entries older than a retention and, if there were any, appends a
// [Pruned] entry. It returns the last removed entry, the anchor of the chain; its number
// is 0 if nothing was removed. It stops at the first entry to keep, so that setting the
// clock back leaves no gap in the chain.
func (s *Store) PruneAudit(
	ctx context.Context, retention time.Duration, now time.Time,
) (anchor AuditEntry, err error) {
	err = s.write(ctx, "removing old entries of the audit", func(ctx context.Context, tx Tx) error {
		if _, err := one[AuditEntry](ctx, tx, "locking the audit", lockAudit); err != nil {
			return err
		}

		old, err := readAudit(ctx, tx, ` WHERE seq < coalesce((SELECT min(seq) FROM audit WHERE at >= $1),
(SELECT seq + 1 FROM audit_head)) ORDER BY seq DESC LIMIT 1`, now.Add(-retention))
		if err != nil || len(old) == 0 {
			return err
		}
		anchor = old[0]

		if _, err := tx.Exec(ctx, `DELETE FROM audit WHERE seq <= $1`, anchor.Seq); err != nil {
			return err
		}

		// Encoding strings and numbers cannot fail.
		detail, _ := json.Marshal(PrunedDetail{
			Entry:     anchor.Seq,
			Hash:      anchor.Hash,
			At:        anchor.At,
			Retention: retention.String(),
		})
		return appendAudit(ctx, tx, []AuditEntry{
			{At: now, Actor: "service", Action: Pruned, Detail: string(detail)},
		})
	})
	return anchor, err
}
