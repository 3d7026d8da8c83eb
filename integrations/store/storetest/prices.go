package storetest

import (
	"errors"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// Price rules are current until others are used in the same locale. Replaced rules are
// kept for store.PriceRulesRetention.
func prices(t *testing.T, s Subject) {
	db, other := s.MustOpen(t, nil), s.MustOpen(t, nil)
	use := func(db Store, revision, locale string, after time.Duration) {
		t.Helper()
		p := store.PriceRules{Revision: revision, Locale: locale, Rules: "{}"}
		ok(t, db.UsePriceRules(t.Context(), p, When().Add(after)))
	}
	want := func(revision string, replaced time.Time) {
		t.Helper()
		got, err := other.PriceRules(t.Context(), revision)
		if err != nil || got.Rules != "{}" || !got.ReplacedAt.Equal(replaced) {
			t.Errorf("%s: %+v, %v, want it replaced at %v", revision, got, err, replaced)
		}
	}

	use(db, "a", "en", 0)
	use(db, "z", "ro", 0)
	use(db, "b", "en", time.Hour)
	use(other, "b", "en", 2*time.Hour) // by another instance
	want("a", When().Add(time.Hour))
	if got, err := other.CurrentPriceRules(t.Context(), "en"); err != nil || got.Revision != "b" {
		t.Errorf("the current rules are %+v, %v, want b", got, err)
	}

	use(other, "a", "en", 3*time.Hour) // an editor reverts the change
	want("a", time.Time{})
	want("b", When().Add(3*time.Hour))

	use(db, "", "ro", time.Hour) // they are unpublished, and published again
	want("z", When().Add(time.Hour))
	use(db, "z", "ro", 2*time.Hour)
	want("z", time.Time{})

	use(db, "c", "en", store.PriceRulesRetention+4*time.Hour)
	for _, revision := range []string{"b", ""} {
		if _, err := db.PriceRules(t.Context(), revision); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s returned %v, want ErrNotFound", revision, err)
		}
	}
}
