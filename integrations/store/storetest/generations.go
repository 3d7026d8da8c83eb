package storetest

import (
	"maps"
	"math"
	"sync"
	"testing"
)

// generations invalidates keys at two instances at once. Each invalidation gets a
// generation of its own, also if one instance has seen a later one.
func generations(t *testing.T, s Subject) {
	a, b := s.MustOpen(t, nil), s.MustOpen(t, nil)
	if first, err := a.Generations(t.Context()); len(first) != 0 || err != nil {
		t.Fatalf("at first: %v, %v", first, err)
	}

	var mu sync.Mutex
	var group sync.WaitGroup
	seen := map[int64]bool{}
	for i := range 20 {
		group.Go(func() {
			db := []Store{a, b}[i%2]
			next, err := db.NextGenerations(t.Context(), []string{"en", "es"}, 1000)
			if err != nil || next["en"] <= 1000 || next["es"] <= 1000 {
				t.Errorf("got %v, %v", next, err)
			}

			mu.Lock()
			seen[next["en"]] = true
			mu.Unlock()
		})
	}
	group.Wait()
	if len(seen) != 20 {
		t.Errorf("20 invalidations made %d generations", len(seen))
	}

	const late = math.MaxInt64 - 2
	next, err := a.NextGenerations(t.Context(), []string{"es"}, late)
	if err != nil || next["es"] != late+1 {
		t.Errorf("after a late one: %v, %v", next, err)
	}
	if got, err := b.Generations(t.Context()); err != nil || !maps.Equal(got, next) {
		t.Errorf("the other instance reads %v, %v, want %v", got, err, next)
	}
}
