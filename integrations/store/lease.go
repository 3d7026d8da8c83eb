package store

import (
	"context"
	"time"
)

// Leases lets one of several instances do what must be done once. Times are those of the
// database, since clocks of instances differ.
type Leases interface {
	// TakeLease takes a lease, or renews it, for a time, and leaves a note with it. It returns
	// false, and changes nothing, while another holder has the lease.
	TakeLease(ctx context.Context, l Lease, life time.Duration) (bool, error)
	// EndLease ends a lease before its time, if the holder has it. The note stays.
	EndLease(ctx context.Context, name, holder string) error
	// Lease returns a lease and whether it is active, also one that has ended, or ErrNotFound.
	Lease(ctx context.Context, name string) (l Lease, active bool, err error)
}

// Lease is a named right that one holder at a time has.
type Lease struct {
	Name   string
	Holder string
	Note   string // a text of the holder
}
