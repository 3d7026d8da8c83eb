package storetest

import (
	"errors"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// A revision is current until another one of its kind is used in the same locale.
// Replaced ones are kept for store.RevisionRetention, and as long as a lead names them.
func revisions(t *testing.T, s Subject) {
	db, other := s.MustOpen(t, nil), s.MustOpen(t, nil)
	use := func(db Store, revision, locale string, after time.Duration) {
		t.Helper()
		r := store.Revision{Revision: revision, Kind: store.Prices, Locale: locale, Body: "{}"}
		ok(t, db.UseRevision(t.Context(), r, When().Add(after)))
	}
	want := func(revision string, replaced time.Time) {
		t.Helper()
		got, err := other.Revision(t.Context(), store.Prices, revision)
		if err != nil || got.Body != "{}" || !got.ReplacedAt.Equal(replaced) {
			t.Errorf("%s: %+v, %v, want it replaced at %v", revision, got, err, replaced)
		}
	}

	use(db, "a", "en", 0)
	use(db, "z", "ro", 0)
	use(db, "b", "en", time.Hour)
	use(other, "b", "en", 2*time.Hour) // by another instance
	ok(t, db.UseRevision(t.Context(), store.Revision{Revision: "t", Kind: store.Texts, Locale: "en"}, When()))
	want("a", When().Add(time.Hour))
	if got, err := other.CurrentRevision(t.Context(), store.Prices, "en"); err != nil || got.Revision != "b" {
		t.Errorf("the current revision is %+v, %v, want b", got, err)
	}

	use(other, "a", "en", 3*time.Hour) // an editor reverts the change
	want("a", time.Time{})
	want("b", When().Add(3*time.Hour))

	use(db, "", "ro", time.Hour) // it is unpublished, and published again
	want("z", When().Add(time.Hour))
	use(db, "z", "ro", 2*time.Hour)
	want("z", time.Time{})

	named := Lead(1)
	named.Texts = "a" // whatever its kind is
	submit(t, db, named)
	use(db, "c", "en", store.RevisionRetention+4*time.Hour)
	use(db, "d", "en", 3*store.RevisionRetention)
	want("a", When().Add(store.RevisionRetention+4*time.Hour))
	ok(t, db.Erase(t.Context(), named.Lead.ID))
	use(db, "e", "en", 4*store.RevisionRetention)
	for _, revision := range []string{"a", "b", "t", ""} { // t is of another kind
		if _, err := db.Revision(t.Context(), store.Prices, revision); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s returned %v, want ErrNotFound", revision, err)
		}
	}
}

// A note replaces an earlier one with its name, for all instances.
func notes(t *testing.T, s Subject) {
	db, other := s.MustOpen(t, nil), s.MustOpen(t, nil)
	for _, text := range []string{"first", "", "second"} {
		ok(t, db.SetNote(t.Context(), "webhook", text))
		if got, err := other.Note(t.Context(), "webhook"); err != nil || got != text {
			t.Errorf("the note is %q, %v, want %q", got, err, text)
		}
	}
}
