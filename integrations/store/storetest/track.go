package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

func trackLatest(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	first, second := Visit("s1", When()), Visit("s1", When().Add(time.Minute))
	second.Selections = quote.Selections{ProjectType: "web-app"}
	second.Hints = quote.Hints{}
	for _, v := range []quote.Visit{first, second, Visit("s2", When())} {
		if err := db.Track(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	want := quote.Session{
		ID: "s1", Selections: second.Selections, Estimate: second.Estimate,
		FirstSeen: first.At, LastSeen: second.At, Visits: 2,
	}
	wantSession(t, db, want)
	if _, err := db.Session(t.Context(), "s3"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown session gives %v, want ErrNotFound", err)
	}
}

func trackPartial(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	zero := 0.0
	for name, v := range map[string]quote.Visit{
		"nothing":    {},
		"minimum":    {Estimate: quote.PartialEstimate{Min: &zero}},
		"first name": {Hints: quote.Hints{FirstName: "Ț 😀 \x00 '"}},
		"features":   {Selections: quote.Selections{Features: []string{"a", "b"}}},
	} {
		v.SessionID, v.At = name, When()
		if err := db.Track(t.Context(), v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wantSession(t, db, quote.Session{
			ID: name, Selections: v.Selections, Estimate: v.Estimate, Hints: v.Hints,
			FirstSeen: v.At, LastSeen: v.At, Visits: 1,
		})
	}
}

// A state that arrives late is counted but does not replace a newer one; after a
// clock has been set back what arrives last is the latest.
func trackLate(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	track := func(project string, at time.Time) {
		t.Helper()
		v := quote.Visit{SessionID: "s", At: at, Selections: quote.Selections{ProjectType: project}}
		if err := db.Track(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	want := quote.Session{
		ID: "s", Selections: quote.Selections{ProjectType: "new"},
		FirstSeen: When().Add(-time.Second), LastSeen: When(), Visits: 2,
	}
	track("new", When())
	track("late", When().Add(-time.Second))
	wantSession(t, db, want)

	back := When().Add(-time.Hour)
	track("after the clock was set back", back)
	want.Selections.ProjectType = "after the clock was set back"
	want.FirstSeen, want.LastSeen, want.Visits = back, back, 3
	wantSession(t, db, want)
}

// Visits of few sessions by many clients on two instances add up.
func trackConcurrent(t *testing.T, s Subject) {
	const clients, each, sessions = 24, 20, 5
	dbs := []Store{s.MustOpen(t, Hooks{}), s.MustOpen(t, Hooks{})}
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				v := Visit(fmt.Sprintf("s%d", i%sessions), When().Add(time.Duration(i)*time.Millisecond))
				if err := dbs[c%len(dbs)].Track(t.Context(), v); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range sessions {
		got, err := dbs[0].Session(t.Context(), fmt.Sprintf("s%d", i))
		if err != nil {
			t.Fatal(err)
		}
		first := When().Add(time.Duration(i) * time.Millisecond)
		last := first.Add((each - sessions) * time.Millisecond)
		if got.Visits != clients*each/sessions || !got.FirstSeen.Equal(first) || !got.LastSeen.Equal(last) {
			t.Errorf("session %d: %d visits from %v to %v, want %d from %v to %v",
				i, got.Visits, got.FirstSeen, got.LastSeen, clients*each/sessions, first, last)
		}
	}
}

func wantSession(t *testing.T, db Store, want quote.Session) {
	t.Helper()
	got, err := db.Session(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("session\n got %+v\nwant %+v", got, want)
	}
}
