package storetest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// Rules are current from their first use until others are used in their locale, and are
// kept for a while after that.
func prices(t *testing.T, s Subject) {
	db, other := s.MustOpen(t, nil), s.MustOpen(t, nil)
	use := func(db Store, revision, locale string, after time.Duration) {
		t.Helper()
		p := store.PriceRules{Revision: revision, Locale: locale, Rules: `{"of":"` + revision + `"}`}
		ok(t, db.UsePriceRules(t.Context(), p, When().Add(after)))
	}
	want := func(revision, locale string, replaced time.Time) {
		t.Helper()
		got, err := other.PriceRules(t.Context(), revision)
		p := store.PriceRules{
			Revision:   revision,
			Locale:     locale,
			Rules:      `{"of":"` + revision + `"}`,
			ReplacedAt: replaced,
		}
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("got %+v, %v, want %+v", got, err, p)
		}
	}
	gone := func(revision string) {
		t.Helper()
		if _, err := db.PriceRules(t.Context(), revision); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s gives %v, want ErrNotFound", revision, err)
		}
	}

	gone("a")
	use(db, "a", "en", 0)
	use(db, "z", "ro", 0)
	want("a", "en", time.Time{})

	use(db, "b", "en", time.Hour)
	use(other, "b", "en", 2*time.Hour) // by another instance
	want("a", "en", When().Add(time.Hour))
	want("b", "en", time.Time{})

	if got, err := other.CurrentPriceRules(t.Context(), "en"); err != nil || got.Revision != "b" {
		t.Errorf("the current rules are %+v, %v, want b", got, err)
	}

	use(other, "a", "en", 3*time.Hour) // an editor takes the change back
	want("a", "en", time.Time{})
	want("b", "en", When().Add(3*time.Hour))

	none := store.PriceRules{Locale: "ro"} // they are unpublished, and published again
	ok(t, db.UsePriceRules(t.Context(), none, When().Add(time.Hour)))
	want("z", "ro", When().Add(time.Hour))
	want("a", "en", time.Time{})
	gone("")
	use(db, "z", "ro", 2*time.Hour)

	use(db, "c", "en", store.PriceRulesKept+4*time.Hour)
	gone("b")
	want("a", "en", When().Add(store.PriceRulesKept+4*time.Hour))
	want("z", "ro", time.Time{})
}
