package store

import "context"

// Notes keeps texts of the service, by their names, for its other instances and for
// commands.
type Notes interface {
	// SetNote replaces a note.
	SetNote(ctx context.Context, name, text string) error
	// Note returns a note, or ErrNotFound.
	Note(ctx context.Context, name string) (string, error)
}
