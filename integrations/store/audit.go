package store

import (
	"context"
	"time"
)

// AuditEntry is a row of the audit: what an operator did. It holds ids, never contact data,
// and outlives the erasure of the lead.
type AuditEntry struct {
	Seq    int64 // 1, 2, 3 … without a gap
	At     time.Time
	Actor  string // "token", "oidc:<subject of an account>" or "command:<user of the system>"
	Action string
	Lead   string // id of the lead; empty: none, or several
	Detail string // JSON
	Hash   string // hash of the entry before together with this one

	// Name is how the actor is shown, such as by a verified address. It is kept beside the
	// audit, as the latest that an entry came with; without one it is the actor.
	Name string
}

// Pruned is the action of an entry about entries that were removed because of their age.
// Verifying compares the beginning of the chain with it.
const Pruned = "PRUNED"

// PrunedDetail is the detail of such an entry: the last entry that was removed.
type PrunedDetail struct {
	Entry     int64     `json:"entry"`
	Hash      string    `json:"hash"`
	At        time.Time `json:"at"`
	Retention string    `json:"retention"` // such as 720h0m0s
}

// AuditFilter narrows a listing of the audit, the newest first.
type AuditFilter struct {
	Lead   string // only entries of this lead, unless it is empty
	Before int64  // only entries with a smaller number, unless it is 0
	Limit  int
}

// AuditReport is the result of verifying the audit.
type AuditReport struct {
	Entries int64
	Seq     int64  // number of the last entry
	Head    string // hash of the last entry
	Problem string // the first thing that is wrong; empty: nothing is
}

// Audit keeps what operators did as a chain of hashes. Methods of [Archive] that take
// entries record them in the transaction in which they change something.
type Audit interface {
	// Record appends entries. Their numbers and hashes are the store's.
	Record(ctx context.Context, entries ...AuditEntry) error

	// AuditEntries returns a page of the audit.
	AuditEntries(ctx context.Context, f AuditFilter) ([]AuditEntry, error)

	// Operators returns the names that entries came with, in alphabetical order.
	Operators(ctx context.Context) ([]string, error)

	// AuditHead returns number and hash of the last entry; number 0 if there is none.
	AuditHead(ctx context.Context) (seq int64, hash string, err error)

	// VerifyAudit finds an entry that was changed or removed. A head that is not empty must
	// be the hash of an entry: it proves that no later entry was replaced.
	VerifyAudit(ctx context.Context, head string) (AuditReport, error)

	// PruneAudit removes entries older than a retention, and appends an entry of that if
	// there were any. It returns the last one that was removed, the anchor of the chain; its
	// number is 0 if there was none.
	PruneAudit(ctx context.Context, retention time.Duration, now time.Time) (anchor AuditEntry, err error)
}
