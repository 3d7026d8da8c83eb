package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// A request that ended before its turn stores nothing and is told so.
func requestEnded(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Track(ctx, Visit("s", When())); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("tracking gives %v, want ErrUnavailable because of the end of the request", err)
	}
	if _, _, err := db.Submit(ctx, Submission(1)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("submitting gives %v, want ErrUnavailable", err)
	}
	wantCount(t, db, 0)
	if _, err := db.Session(t.Context(), "s"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the session gives %v, want ErrNotFound", err)
	}

	// Requests that end at any moment are answered with the truth.
	var wg sync.WaitGroup
	var mu sync.Mutex
	stored := map[string]bool{}
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
			defer cancel()
			id := fmt.Sprint("s", i)
			err := db.Track(ctx, Visit(id, When()))
			if err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("tracking gives %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			stored[id] = err == nil
		})
	}
	wg.Wait()
	for id, want := range stored {
		_, err := db.Session(t.Context(), id)
		if got := err == nil; got != want {
			t.Errorf("session %s: stored %v, but the answer said %v", id, got, want)
		}
	}
}

func ping(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	before := s.Strings(t, `SELECT CAST(at AS varchar(20)) FROM pulse`)
	for range 3 {
		if err := db.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if after := s.Strings(t, `SELECT CAST(at AS varchar(20)) FROM pulse`); len(after) != 1 || after[0] == before[0] {
		t.Errorf("the pulse is %q after %q: nothing was written", after, before)
	}
}

// Closing waits for those who wait; whoever comes later is told.
func closing(t *testing.T, s Subject) {
	db, err := s.Open(t.Context(), Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	stored := make([]bool, 100)
	for i := range stored {
		wg.Go(func() {
			err := db.Track(t.Context(), Visit(fmt.Sprint("s", i), When()))
			if err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("tracking while it closes gives %v", err)
			}
			stored[i] = err == nil
		})
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if err := db.Track(t.Context(), Visit("late", When())); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("tracking after Close gives %v, want ErrUnavailable", err)
	}
	again := s.MustOpen(t, Hooks{})
	for i, want := range stored {
		_, err := again.Session(t.Context(), fmt.Sprint("s", i))
		if got := err == nil; got != want {
			t.Errorf("session %d: stored %v, but the answer said %v", i, got, want)
		}
	}
}

// Ten instances start on an empty database at the same moment.
func startMany(t *testing.T, s Subject) {
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			db, err := s.Open(t.Context(), Hooks{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Track(t.Context(), Visit(fmt.Sprint("s", i), When())); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	db := s.MustOpen(t, Hooks{})
	if got := length(t, db.Sessions(t.Context(), store.SessionFilter{})); got != 10 {
		t.Errorf("%d sessions, want 10", got)
	}
	seen := map[string]bool{}
	for _, name := range s.Strings(t, `SELECT name FROM store_migrations`) {
		if seen[name] {
			t.Errorf("migration %s was applied twice", name)
		}
		seen[name] = true
	}
	if len(seen) == 0 {
		t.Error("no migration is recorded")
	}
}

// During a rolling restart an older program meets tables of a newer one.
func startNewer(t *testing.T, s Subject) {
	first := s.MustOpen(t, Hooks{})
	wantSubmit(t, first, Submission(1), Submission(1).Submission, true)
	s.Exec(t, `INSERT INTO store_migrations (version, name) VALUES (9999, 'of the future')`)
	s.Exec(t, `ALTER TABLE submissions ADD COLUMN later text`)
	wantSubmit(t, s.MustOpen(t, Hooks{}), Submission(2), Submission(2).Submission, true)
	wantCount(t, first, 2)
}
