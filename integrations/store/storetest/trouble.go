package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/quote"
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

// A database of each release comes up to date with what it holds.
func startReleased(t *testing.T, s Subject) {
	s.Exec(t, `CREATE TABLE store_migrations (version bigint PRIMARY KEY, name text NOT NULL)`)
	migrate := func(version int, name string) {
		text, err := os.ReadFile(filepath.Join(s.Migrations, name))
		if err != nil {
			t.Fatal(err)
		}
		s.Exec(t, string(text))
		s.Exec(t, fmt.Sprintf(`INSERT INTO store_migrations VALUES (%d, '%s')`, version, name))
	}
	body := func(n int) string {
		text, err := json.Marshal(Submission(n).Submission)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), "'", "''")
	}
	repeat := `INSERT INTO submission_repeats VALUES ('id-000001', '%s', 'key', '` + "%s" + `', %d)`
	when := When().UnixMilli()
	migrate(1, "0001_quotes.sql")
	s.Exec(t, fmt.Sprintf(`INSERT INTO submissions (id, session_id, email, body, content_key, submitted_at)
VALUES ('id-000001', 'session-1', 'ana.1@example.com', '%s', 'content-1', %d)`, body(1), When().Add(time.Second).UnixMilli()))
	s.Exec(t, fmt.Sprintf(`INSERT INTO submission_keys VALUES ('key', 'id-000001', %d)`, when))
	s.Exec(t, fmt.Sprintf(repeat, "content-2", body(2), When().Add(2*time.Second).UnixMilli()))
	s.Exec(t, fmt.Sprintf(repeat, "content-1", body(9), when)) // a lead already
	migrate(2, "0002_held.sql")
	s.Exec(t, fmt.Sprintf(`INSERT INTO submissions (id, session_id, email, body, content_key, submitted_at, held)
VALUES ('id-000003', 'session-3', 'ana.3@example.com', '%s', 'content-3', %d, 1)`, body(3), When().Add(3*time.Second).UnixMilli()))

	db := s.MustOpen(t, Hooks{})
	var got []quote.Submission
	for sub, err := range db.Submissions(t.Context(), store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, sub)
	}
	want := []quote.Submission{Submission(1).Submission, Submission(2).Submission, Submission(3).Submission}
	want[1].Held, want[2].Held = true, true
	if !reflect.DeepEqual(got, want) {
		t.Errorf("stored are\n%+v\nwant\n%+v", got, want)
	}
	if n := length(t, db.Submissions(t.Context(), store.Filter{Email: "Ana.2@example.com", Held: true})); n != 1 {
		t.Errorf("%d are found by the address of what was a repetition, want 1", n)
	}
	again := Submission(1)
	again.IdempotencyKey = "key"
	wantSubmit(t, db, again, Submission(1).Submission, false)
	again.ContentKey = "content-4"
	wantReused(t, db, again)
}
