package storetest

import (
	"errors"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// A revision is current until another one of its kind is used in the same locale.
// Replaced ones are kept for store.RevisionRetention.
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

	use(db, "c", "en", store.RevisionRetention+4*time.Hour)
	for _, revision := range []string{"b", "t", ""} { // t is of another kind
		if _, err := db.Revision(t.Context(), store.Prices, revision); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s returned %v, want ErrNotFound", revision, err)
		}
	}
}

// A lead keeps the texts that it was accepted with, however often they are replaced, until
// it is erased.
func textsOfLeads(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	use := func(revision string, after time.Duration) {
		t.Helper()
		r := store.Revision{Revision: revision, Kind: store.Texts, Body: "words of " + revision}
		ok(t, db.UseRevision(t.Context(), r, When().Add(after)))
	}
	want := func(id, texts string) {
		t.Helper()
		if got, err := db.Lead(t.Context(), id); err != nil || got.Texts != texts {
			t.Errorf("%s reads %q, %v, want %q", id, got.Texts, err, texts)
		}
	}

	use("old", 0)
	first, second := Lead(1), Lead(2)
	first.Texts = "old"
	for _, n := range []store.NewLead{first, second} {
		_, _, err := db.Submit(t.Context(), n)
		ok(t, err)
	}
	want(first.Lead.ID, "words of old")
	want(second.Lead.ID, "") // it was accepted without texts

	use("new", time.Hour)
	use("newer", 2*store.RevisionRetention)
	use("newest", 4*store.RevisionRetention)
	want(first.Lead.ID, "words of old")
	if again, created, err := db.Submit(t.Context(), first); err != nil || created || again.Texts != "words of old" {
		t.Errorf("a repetition returns %q, %t, %v", again.Texts, created, err)
	}
	if _, err := db.Revision(t.Context(), store.Texts, "new"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("texts that no lead names returned %v", err)
	}

	ok(t, db.Erase(t.Context(), first.Lead.ID))
	use("last", 6*store.RevisionRetention)
	if _, err := db.Revision(t.Context(), store.Texts, "old"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the texts of an erased lead returned %v", err)
	}
}
