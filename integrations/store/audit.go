package store

import (
	"context"
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
	Lead   string // only entries of this lead; empty: of all
	Before int64  // only entries with a lower number; 0: all
	Limit  int
}

// AuditReport is the result of verifying the audit.
type AuditReport struct {
	Entries int64
	Seq     int64  // number of the last entry
	Head    string // hash of the last entry
	Problem string // the first problem found; empty: none
}

// Audit stores operators' actions as a hash chain. Methods of [Archive] that take entries
// record them in the transaction of the change.
type Audit interface {
	// Record appends entries. The store assigns their numbers and hashes.
	Record(ctx context.Context, entries ...AuditEntry) error

	// AuditEntries returns a page of the audit.
	AuditEntries(ctx context.Context, f AuditFilter) ([]AuditEntry, error)

	// Operators returns the display names recorded with entries, in alphabetical order.
	Operators(ctx context.Context) ([]string, error)

	// AuditHead returns the number and hash of the last entry; the number is 0 if there
	// is none.
	AuditHead(ctx context.Context) (seq int64, hash string, err error)

	// VerifyAudit detects changed and removed entries. A non-empty head must be the hash
	// of an entry, which proves that the chain up to that entry was not replaced.
	VerifyAudit(ctx context.Context, head string) (AuditReport, error)

	// PruneAudit removes entries older than a retention and, if there were any, appends a
	// [Pruned] entry. It returns the last removed entry, the anchor of the chain; its
	// number is 0 if nothing was removed.
	PruneAudit(ctx context.Context, retention time.Duration, now time.Time) (anchor AuditEntry, err error)
}
