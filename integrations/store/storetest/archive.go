package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

func listSubmissions(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	const n = 1100 // more than two pages
	fill(t, n, func(i int) error {
		sub := Submission(i)
		sub.Submission.SubmittedAt = When().Add(time.Duration(i/10) * time.Second) // ten share a time
		_, _, err := db.Submit(t.Context(), sub)
		return err
	})
	for name, c := range map[string]struct {
		filter     store.Filter
		from, till int
	}{
		"all":     {from: 0, till: n},
		"e-mail":  {filter: store.Filter{Email: "aNA.77@example.COM"}, from: 77, till: 78},
		"nobody":  {filter: store.Filter{Email: "ana@example.com"}},
		"since":   {filter: store.Filter{Since: When().Add(100 * time.Second)}, from: 1000, till: n},
		"until":   {filter: store.Filter{Until: When().Add(2 * time.Second)}, from: 0, till: 20},
		"between": {filter: store.Filter{Since: When().Add(time.Second), Until: When().Add(90 * time.Second)}, from: 10, till: 900},
	} {
		for _, newest := range []bool{false, true} {
			c.filter.Newest = newest
			i := c.from
			for got, err := range db.Submissions(t.Context(), c.filter) {
				if err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf("id-%06d", i)
				if newest {
					want = fmt.Sprintf("id-%06d", c.till-1-(i-c.from))
				}
				if got.ID != want {
					t.Fatalf("%s, newest first %v: %s comes where %s belongs", name, newest, got.ID, want)
				}
				i++
			}
			if i != c.till && c.till != 0 {
				t.Errorf("%s, newest first %v: %d submissions are listed, want %d", name, newest, i-c.from, c.till-c.from)
			}
		}
	}
}

func listSessions(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	const n = 1100
	fill(t, n, func(i int) error {
		return db.Track(t.Context(), Visit(fmt.Sprint("s", i), When().Add(time.Duration(i)*time.Second)))
	})
	for name, c := range map[string]struct {
		filter store.SessionFilter
		want   int
	}{
		"all":     {want: n},
		"since":   {store.SessionFilter{Since: When().Add(1000 * time.Second)}, 100},
		"until":   {store.SessionFilter{Until: When().Add(10 * time.Second)}, 10},
		"between": {store.SessionFilter{Since: When().Add(time.Second), Until: When().Add(3 * time.Second)}, 2},
	} {
		seen := map[string]quote.Session{}
		for got, err := range db.Sessions(t.Context(), c.filter) {
			if err != nil {
				t.Fatal(err)
			}
			seen[got.ID] = got
		}
		if len(seen) != c.want {
			t.Errorf("%s: %d sessions, want %d", name, len(seen), c.want)
		}
		for id, got := range seen {
			if got.Visits != 1 || got.Hints.Email != "ana@example.com" || *got.Estimate.Max != 2000 {
				t.Fatalf("%s: session %s is %+v", name, id, got)
			}
		}
	}
}

// A listing left in the middle, or whose context has ended, leaves nothing open.
func listStopped(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	for i := range 3 {
		wantSubmit(t, db, Submission(i), Submission(i).Submission, true)
	}
	for range 50 {
		for _, err := range db.Submissions(t.Context(), store.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range db.Submissions(ctx, store.Filter{}) {
		if err == nil {
			t.Error("a listing goes on after its context has ended")
		}
	}
	wantCount(t, db, 3)
}

func prune(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	const n = 1200
	fill(t, n, func(i int) error {
		at := When()
		if i%3 == 0 {
			at = at.Add(time.Hour)
		}
		return db.Track(t.Context(), Visit(fmt.Sprint("s", i), at))
	})
	for _, want := range []int64{n * 2 / 3, 0} {
		got, err := db.PruneSessions(t.Context(), When().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%d sessions were removed, want %d", got, want)
		}
	}
	if got := length(t, db.Sessions(t.Context(), store.SessionFilter{})); got != n/3 {
		t.Errorf("%d sessions are left, want %d", got, n/3)
	}
}

func erase(t *testing.T, s Subject) {
	db := s.MustOpen(t, s.jobs(t))
	first, second := Submission(1), Submission(3)
	first.IdempotencyKey, second.IdempotencyKey = "key", "second"
	visit := Visit(first.Submission.SessionID, When())
	if err := db.Track(t.Context(), visit); err != nil {
		t.Fatal(err)
	}
	wantSubmit(t, db, first, first.Submission, true)
	wantSubmit(t, db, second, second.Submission, true)

	id := first.Submission.ID
	if err := db.Erase(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Submission(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an erased submission gives %v, want ErrNotFound", err)
	}
	if err := db.Erase(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("erasing again gives %v, want ErrNotFound", err)
	}
	wantCount(t, db, 1)
	wantStrings(t, s, `SELECT submission_id FROM jobs`, second.Submission.ID)
	wantStrings(t, s, `SELECT key FROM submission_keys`, "second")
	wantSession(t, db, quote.Session{
		ID: visit.SessionID, Selections: visit.Selections, Estimate: visit.Estimate,
		FirstSeen: visit.At, LastSeen: visit.At, Visits: 1,
	})
	for _, table := range []string{"sessions", "submissions"} {
		column := strings.NewReplacer("sessions", "state", "submissions", "body").Replace(table)
		for _, text := range s.Strings(t, `SELECT `+column+` FROM `+table) {
			if strings.Contains(text, first.Submission.Contact.Email) || strings.Contains(text, visit.Hints.Email) {
				t.Errorf("%s still holds %s", table, text)
			}
		}
	}
	wantSubmit(t, db, first, first.Submission, true) // nothing of it is left that could be repeated
}

// Where the deliveries can't be cancelled the submission stays.
func eraseFailing(t *testing.T, s Subject) {
	h := s.jobs(t)
	broken := errors.New("no queue")
	h.Cancel = func(context.Context, Exec, string) error { return broken }
	db := s.MustOpen(t, h)
	wantSubmit(t, db, Submission(1), Submission(1).Submission, true)
	if err := db.Erase(t.Context(), "id-000001"); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the queue", err)
	}
	wantCount(t, db, 1)
}

// fill calls store for each number, several at once.
func fill(t *testing.T, n int, store func(i int) error) {
	t.Helper()
	const clients = 50
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := c; i < n; i += clients {
				if err := store(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// length counts what a listing yields.
func length[T any](t *testing.T, rows iter.Seq2[T, error]) int {
	t.Helper()
	n := 0
	for _, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
