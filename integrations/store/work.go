package store

import (
	"context"
	"errors"

	"siteapi/integrations/lead"
)

// MostNotes is the maximum number of notes of a lead.
const MostNotes = 200

// ErrTooManyNotes means that a lead has [MostNotes] notes.
var ErrTooManyNotes = errors.New("the lead has too many notes")

// Work stores the owner, status and notes of leads. A change and its audit entries share
// a transaction; a call that changes nothing returns false and records nothing. An
// unknown lead is ErrNotFound.
type Work interface {
	// Assign makes the operator with an address the owner of a lead; an empty address
	// leaves it unassigned.
	Assign(ctx context.Context, id, owner string, audit ...AuditEntry) (changed bool, err error)

	// SetStatus sets the status of a lead.
	SetStatus(
		ctx context.Context, id string, status lead.Status, audit ...AuditEntry,
	) (changed bool, err error)

	// AddNote adds a note to a lead. It is erased with the lead.
	AddNote(ctx context.Context, id string, note lead.Note, audit ...AuditEntry) error

	// Notes returns the notes of leads by lead id, oldest first.
	Notes(ctx context.Context, leadIDs []string) (map[string][]lead.Note, error)

	// CountWork counts the leads that match a filter, ignoring its position and limit.
	CountWork(ctx context.Context, f Filter) ([]WorkCount, error)
}

// WorkCount is the number of leads in the same state. Progress applies to released leads
// only.
type WorkCount struct {
	InReview, Rejected bool
	Progress           lead.DeliveryState
	Status             lead.Status
	Number             int64
}

// NumberOf returns the total number of counted leads.
func NumberOf(counts []WorkCount) (n int) {
	for _, c := range counts {
		n += int(c.Number)
	}
	return n
}
