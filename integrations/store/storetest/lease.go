package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// A lease has one holder at a time, until it gives it back or its time is over.
func leases(t *testing.T, s Subject) {
	first, second := s.MustOpen(t, nil), s.MustOpen(t, nil)
	hold := func(db Store, holder string, life time.Duration, want bool) {
		t.Helper()
		taken, err := db.TakeLease(t.Context(), "watch", holder, life)
		if err != nil || taken != want {
			t.Fatalf("%s: taken %v, %v, want %v", holder, taken, err, want)
		}
	}
	hold(first, "a", time.Hour, true)
	hold(second, "b", time.Hour, false)
	hold(first, "a", time.Hour, true)

	ok(t, second.EndLease(t.Context(), "watch", "b")) // which does not have it
	hold(second, "b", time.Hour, false)
	ok(t, second.EndLease(t.Context(), "watch", "a"))
	hold(second, "b", time.Millisecond, true)
	time.Sleep(20 * time.Millisecond)

	// Of many instances that want it at the same moment one gets it.
	var holders atomic.Int32
	together(10, func(i int) {
		taken, err := second.TakeLease(t.Context(), "watch", fmt.Sprint(i), time.Hour)
		ok(t, err)
		if taken {
			holders.Add(1)
		}
	})
	if n := holders.Load(); n != 1 {
		t.Errorf("%d holders, want 1", n)
	}
}

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
