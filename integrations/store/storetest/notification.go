package storetest

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// A receiver is behind until it was called twice after the latest change, whichever
// instance calls it.
func notifications(t *testing.T, s Subject) {
	ctx, db, other := t.Context(), s.MustOpen(t, nil), s.MustOpen(t, nil)
	change := func(db Store, numbers []int64, receivers ...string) {
		t.Helper()
		if got, err := db.NextChange(ctx, receivers); err != nil || !slices.Equal(got, numbers) {
			t.Errorf("the change is numbered %d, %v, want %d", got, err, numbers)
		}
	}
	call := func(interval time.Duration, number int64, owed int) {
		t.Helper()
		c, err := other.BeginCall(ctx, "varnish", interval)
		if err != nil || c.Change != number || c.Owed != owed || (c.Wait > interval/2) != (interval > 0) {
			t.Errorf("the call is %+v, %v, want it for change %d, %d owed", c, err, number, owed)
		}
	}
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
	change(db, []int64{1, 1}, "next", "varnish")
	change(other, []int64{2}, "varnish")
	wantBehind("next", "varnish")

	call(0, 2, 2)
	call(time.Hour, 2, 2) // it must wait, since the first one has just begun
	change(db, []int64{3}, "varnish")
	ok(t, db.EndCall(ctx, "varnish", 2)) // it began before the latest change
	for _, owed := range []int{2, 1} {
		call(0, 3, owed)
		wantBehind("next", "varnish")
		ok(t, db.EndCall(ctx, "varnish", 3))
	}
	wantBehind("next")
	ok(t, db.EndCall(ctx, "varnish", 3)) // the end of an earlier call is late
	call(0, 3, 0)

	if _, err := db.BeginCall(ctx, "unknown", 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown receiver returned %v, want ErrNotFound", err)
	}
}
