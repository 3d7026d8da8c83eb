package storetest

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// A receiver is behind until it was notified of the latest change, whichever instance
// notifies it.
func notifications(t *testing.T, s Subject) {
	ctx, db, other := t.Context(), s.MustOpen(t, nil), s.MustOpen(t, nil)
	wantBehind := func(names ...string) {
		t.Helper()
		behind, err := other.Behind(ctx)
		ok(t, err)
		for name, d := range behind {
			if d < 0 || d > time.Minute {
				t.Errorf("%s is behind by %v", name, d)
			}
		}
		if got := slices.Sorted(maps.Keys(behind)); !slices.Equal(got, names) {
			t.Errorf("behind are %q, want %q", got, names)
		}
	}

	wantBehind()
	first, err := db.NextChange(ctx, []string{"next", "varnish"})
	ok(t, err)
	second, err := other.NextChange(ctx, []string{"varnish"})
	ok(t, err)
	if second != first+1 {
		t.Errorf("the changes are numbered %d and %d", first, second)
	}
	wantBehind("next", "varnish")

	latest, err := db.BeginCall(ctx, "varnish", time.Hour)
	if err != nil || latest != second {
		t.Errorf("a call began for change %d, %v, want %d", latest, err, second)
	}
	if _, err := other.BeginCall(ctx, "varnish", time.Hour); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a second call within the interval returned %v, want ErrNotFound", err)
	}
	if _, err := other.BeginCall(ctx, "next", time.Hour); err != nil {
		t.Errorf("a call to another receiver: %v", err)
	}

	ok(t, db.EndCall(ctx, "varnish", second))
	ok(t, db.EndCall(ctx, "next", first)) // an earlier change: it is still behind
	wantBehind("next")
	ok(t, db.EndCall(ctx, "varnish", first)) // the end of an earlier call is late
	if notified, latest, err := other.Notified(ctx, "varnish"); err != nil || notified != second || latest != second {
		t.Errorf("notified of %d of %d changes, %v", notified, latest, err)
	}
	ok(t, other.EndCall(ctx, "next", second))
	wantBehind()

	if _, _, err := db.Notified(ctx, "unknown"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown receiver returned %v, want ErrNotFound", err)
	}
}

// A note replaces an earlier one with its name, for all instances.
func notes(t *testing.T, s Subject) {
	ctx, db, other := t.Context(), s.MustOpen(t, nil), s.MustOpen(t, nil)
	if _, err := db.Note(ctx, "webhook"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown note returned %v, want ErrNotFound", err)
	}

	for _, text := range []string{"first", "", "Ștefan's \"second\""} {
		ok(t, db.SetNote(ctx, "webhook", text))
		ok(t, db.SetNote(ctx, "other", "of another name"))
		if got, err := other.Note(ctx, "webhook"); err != nil || got != text {
			t.Errorf("the note is %q, %v, want %q", got, err, text)
		}
	}
}
