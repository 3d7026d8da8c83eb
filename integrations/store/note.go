package store

import "context"

// Notes stores named texts that the service shares with its other instances and with
// commands.
type Notes interface {
	// SetNote stores a note in place of an earlier one with its name.
	SetNote(ctx context.Context, name, text string) error
	// Note returns a note, or ErrNotFound.
	Note(ctx context.Context, name string) (string, error)
}
