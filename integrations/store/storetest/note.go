package storetest

import (
	"errors"
	"testing"

	"siteapi/integrations/store"
)

// A note is replaced by the next one of its name.
func notes(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	if _, err := db.Note(t.Context(), "systems"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a note that was never set: %v", err)
	}
	for _, text := range []string{"one", "two"} {
		ok(t, db.SetNote(t.Context(), "systems", text))
		if got, err := db.Note(t.Context(), "systems"); err != nil || got != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
}
