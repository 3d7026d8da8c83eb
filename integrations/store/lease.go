package store

import (
	"context"
	"time"
)

// Leases lets one of several instances do what must be done once. Times are those of the
// database, since clocks of instances differ.
type Leases interface {
	// TakeLease takes a lease, or renews it, for a time. It returns false, and changes
	// nothing, while another holder has the lease.
	TakeLease(ctx context.Context, name, holder string, life time.Duration) (bool, error)
	// EndLease ends a lease before its time, if the holder has it.
	EndLease(ctx context.Context, name, holder string) error
}

// Notes keeps texts of the service, by their names, for its other instances and for
// commands.
type Notes interface {
	// SetNote replaces a note.
	SetNote(ctx context.Context, name, text string) error
	// Note returns a note, or ErrNotFound.
	Note(ctx context.Context, name string) (string, error)
}
