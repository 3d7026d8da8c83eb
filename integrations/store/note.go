package store

import (
	"context"
)

// SetNote stores a note in place of an earlier one with its name.
func (s *Store) SetNote(ctx context.Context, name, text string) error {
	_, err := s.exec(ctx, "storing a note", `INSERT INTO service_notes (name, text) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET text = excluded.text`, name, text)
	return err
}

// Note returns a note, or an empty text if there is none.
func (s *Store) Note(ctx context.Context, name string) (text string, err error) {
	return one[string](ctx, s.db, "reading a note",
		`SELECT coalesce((SELECT text FROM service_notes WHERE name = $1), '')`, name)
}
