package sqlstore

import "context"

// SetNote implements [store.Notes].
func (s *Store) SetNote(ctx context.Context, name, text string) error {
	_, err := s.exec(ctx, "storing a note", `INSERT INTO service_notes (name, text) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET text = excluded.text`, name, text)
	return err
}

// Note implements [store.Notes].
func (s *Store) Note(ctx context.Context, name string) (text string, err error) {
	return one[string](ctx, s.db, "reading a note", `SELECT text FROM service_notes WHERE name = $1`, name)
}
