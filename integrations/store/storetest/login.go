package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// Logins are stored for all instances. Only one request at a time checks a role.
func logins(t *testing.T, s Subject) {
	db, other := s.MustOpen(t, nil), s.MustOpen(t, nil)
	minute := func(n int) time.Time { return When().Add(time.Duration(n) * time.Minute) }
	want := func(hash string, want store.Login) {
		t.Helper()
		if got, err := other.Login(t.Context(), hash); err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", hash, got, err, want)
		}
	}

	start := func(hash string, at, until int) store.Login {
		t.Helper()
		o := store.Login{
			Hash:      hash,
			Subject:   "Ștefania 😀",
			Email:     "ștefania@example.com",
			Role:      "SALES",
			Secrets:   "sealed",
			StartedAt: minute(at),
			CheckAt:   minute(at + 15),
			ExpiresAt: minute(until),
		}
		ok(t, db.StartLogin(t.Context(), o))
		return o
	}
	first, second := start("aa11", 0, 60), start("aa22", 1, 90)
	want("aa11", first)

	// A check cannot be claimed before it is due, and a claim lasts until it is released
	// or expires.
	claims := func(at int, want bool) {
		t.Helper()
		claimed, err := other.ClaimCheck(t.Context(), "aa11", minute(at), minute(at+1))
		if claimed != want || err != nil {
			t.Errorf("the check is claimed at minute %d: %v, %v, want %v", at, claimed, err, want)
		}
	}
	claims(14, false)
	claims(15, true)
	claims(15, false)
	claims(16, true)

	first.Role, first.Secrets, first.CheckAt, first.Email = "VIEWER", "sealed again", minute(20), ""
	ok(t, db.RenewLogin(t.Context(), first))
	want("aa11", first)
	claims(20, true)

	// A new login removes those that have expired.
	third := start("bb33", 60, 120)
	for now, want := range map[int][]store.Login{60: {third, second}, 90: {third}} {
		if list, err := other.ListLogins(t.Context(), minute(now)); err != nil || !slices.Equal(list, want) {
			t.Errorf("the logins at minute %d are %+v, %v", now, list, err)
		}
	}
	if _, err := other.Login(t.Context(), "aa11"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an expired login: %v", err)
	}
	for _, want := range []int64{1, 0} {
		if n, err := db.EndLogins(t.Context(), "bb"); err != nil || n != want {
			t.Errorf("%d were ended, %v, want %d", n, err, want)
		}
	}
}
