package storetest

import (
	"context"
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
	hold := func(db Store, holder, note string, life time.Duration, want bool) {
		t.Helper()
		taken, err := db.TakeLease(t.Context(), store.Lease{Name: "watch", Holder: holder, Note: note}, life)
		if err != nil || taken != want {
			t.Fatalf("%s: taken %v, %v, want %v", holder, taken, err, want)
		}
	}
	shows := func(holder, note string, active bool) {
		t.Helper()
		l, is, err := second.Lease(t.Context(), "watch")
		if want := (store.Lease{Name: "watch", Holder: holder, Note: note}); err != nil || l != want || is != active {
			t.Fatalf("%+v, active %v, %v, want %+v, %v", l, is, err, want, active)
		}
	}

	if _, _, err := first.Lease(t.Context(), "watch"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("a lease that was never taken: %v", err)
	}
	hold(first, "a", "one", time.Hour, true)
	hold(second, "b", "two", time.Hour, false)
	shows("a", "one", true)
	hold(first, "a", "three", time.Hour, true)
	shows("a", "three", true)

	if err := second.EndLease(t.Context(), "watch", "b"); err != nil {
		t.Fatal(err)
	}
	shows("a", "three", true)
	if err := first.EndLease(t.Context(), "watch", "a"); err != nil {
		t.Fatal(err)
	}
	shows("a", "three", false)

	hold(second, "b", "four", time.Millisecond, true)
	time.Sleep(20 * time.Millisecond)
	shows("b", "four", false)
	hold(first, "a", "five", time.Hour, true)
}

// Of many instances that want a lease at the same moment one gets it.
func leaseAtOnce(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	var holders atomic.Int32
	together(10, func(i int) {
		l := store.Lease{Name: "watch", Holder: fmt.Sprint(i)}
		taken, err := db.TakeLease(context.Background(), l, time.Hour)
		if err != nil {
			t.Error(err)
		}
		if taken {
			holders.Add(1)
		}
	})
	if n := holders.Load(); n != 1 {
		t.Errorf("%d holders, want 1", n)
	}
}
