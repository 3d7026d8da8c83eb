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

	// AuditHead returns number and hash of the last entry; number 0 if there is none.
	AuditHead(ctx context.Context) (seq int64, hash string, err error)

	// VerifyAudit finds an entry that was changed or removed. A head that is not empty must
	// be the hash of an entry: it proves that no later entry was replaced.
	VerifyAudit(ctx context.Context, head string) (AuditReport, error)

	// PruneAudit removes entries made before a time and returns their number. The hash of
	// the last of them stays, as the anchor of the chain.
	PruneAudit(ctx context.Context, before time.Time) (int64, error)
}
