package store

import (
	"context"
	"errors"

	"siteapi/integrations/lead"
)

// MostNotes is how many notes a lead may have.
const MostNotes = 200

// ErrTooManyNotes means that a lead has [MostNotes] notes.
var ErrTooManyNotes = errors.New("the lead has too many notes")

// Work keeps how operators work on leads. A change is recorded in the audit in its
// transaction, unless the lead was like that already: then it returns false. A lead that
// does not exist is ErrNotFound.
type Work interface {
	// Assign gives a lead to the operator with an address, or to none if it is empty.
	Assign(ctx context.Context, id, owner string, audit ...AuditEntry) (changed bool, err error)

	// SetStatus says how far operators are with a lead.
	SetStatus(
		ctx context.Context, id string, status lead.Status, audit ...AuditEntry,
	) (changed bool, err error)

	// AddNote adds a note to a lead. It is erased with the lead.
	AddNote(ctx context.Context, id string, note lead.Note, audit ...AuditEntry) error

	// Notes returns the notes of leads by their ids, the oldest first.
	Notes(ctx context.Context, leadIDs []string) (map[string][]lead.Note, error)

	// CountWork counts the leads that a filter selects, whatever its position and limit.
	CountWork(ctx context.Context, f Filter) ([]WorkCount, error)
}

// WorkCount is the number of leads that are alike. Progress counts for released leads only.
type WorkCount struct {
	InReview, Rejected bool
	Progress           lead.DeliveryState
	Status             lead.Status
	Number             int64
}

// NumberOf returns the number of all leads that were counted.
func NumberOf(counts []WorkCount) (n int) {
	for _, c := range counts {
		n += int(c.Number)
	}
	return n
}
