package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/quote"
)

// Only what is old enough goes, with all that belongs to it, and nothing whose
// deliveries are under way.
func pruneSubmissions(t *testing.T, s Subject) {
	h := s.jobs(t)
	var asked []string
	h.UnderWay = func(_ context.Context, _ Exec, ids []string) (busy []string, err error) {
		asked = append(asked, ids...)
		for _, id := range ids {
			if strings.HasSuffix(id, "7") {
				busy = append(busy, id)
			}
		}
		return busy, nil
	}
	db := s.MustOpen(t, h)
	const n, old = 1300, 1100 // more than two pages of old ones
	fill(t, n, func(i int) error {
		sub := Submission(i)
		sub.IdempotencyKey = fmt.Sprint("key-", i)
		sub.Submission.SubmittedAt = When().Add(time.Duration(i/10) * time.Minute) // ten share a time
		_, _, err := db.Submit(t.Context(), sub)
		return err
	})
	visit := Visit(Submission(3).Submission.SessionID, When())
	if err := db.Track(t.Context(), visit); err != nil {
		t.Fatal(err)
	}
	before := When().Add(old / 10 * time.Minute)
	for _, want := range []int64{old * 9 / 10, 0} {
		asked = nil
		got, err := db.PruneSubmissions(t.Context(), before)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%d submissions were removed, want %d", got, want)
		}
	}
	if len(asked) != old/10 || !slices.IsSorted(asked) {
		t.Errorf("the queue was asked about %d submissions, want those %d that are left", len(asked), old/10)
	}
	wantCount(t, db, n-old*9/10)
	for _, query := range []string{`SELECT submission_id FROM jobs`, `SELECT submission_id FROM submission_keys`} {
		if left := s.Strings(t, query); len(left) != n-old*9/10 {
			t.Errorf("%s gives %d rows, want %d", query, len(left), n-old*9/10)
		}
	}
	wantSession(t, db, quote.Session{
		ID: visit.SessionID, Selections: visit.Selections, Estimate: visit.Estimate, FirstSeen: visit.At, LastSeen: visit.At, Visits: 1,
	})
}

// Where the queue can't answer, or can't cancel, nothing is removed.
func pruneFailing(t *testing.T, s Subject) {
	broken := errors.New("no queue")
	h := s.jobs(t)
	h.UnderWay = func(context.Context, Exec, []string) ([]string, error) { return nil, broken }
	later := Hooks{Enqueue: h.Enqueue, Cancel: func(_ context.Context, _ Exec, id string) error {
		if id == "id-000002" {
			return broken
		}
		return nil
	}}
	for name, h := range map[string]Hooks{"asking": h, "cancelling": later} {
		db := s.MustOpen(t, h)
		for i := range 4 {
			if _, _, err := db.Submit(t.Context(), Submission(i)); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := db.PruneSubmissions(t.Context(), When().Add(time.Hour)); !errors.Is(err, broken) || n != 0 {
			t.Errorf("%s: %d removed, %v, want the error of the queue", name, n, err)
		}
		wantCount(t, db, 4)
	}
}

// An address is found wherever it was typed, in whatever letter case, and goes from
// there; the submissions made with it are not touched.
func hints(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	own := Submission(3)
	own.Submission.Contact.Email = "mine@example.com"
	wantSubmit(t, db, own, own.Submission, true)
	hinted := Visit("hinted", When())
	hinted.Hints = quote.Hints{Email: "MINE@example.com", FirstName: "Ana"}
	theirs := Visit("theirs", When())
	for _, v := range []quote.Visit{hinted, theirs, {SessionID: "empty", At: When()}} {
		if err := db.Track(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	for _, email := range []string{"nobody@example.com", "ine@example.com", ""} {
		if got, err := db.CountHints(t.Context(), email); err != nil || got != 0 {
			t.Errorf("%q: %d %v, want nothing", email, got, err)
		}
	}
	if got, err := db.EraseHints(t.Context(), ""); err != nil || got != 0 {
		t.Errorf("no address at all erased %d %v", got, err)
	}
	if got, err := db.CountHints(t.Context(), "mine@EXAMPLE.com"); err != nil || got != 1 {
		t.Errorf("found %d %v, want 1", got, err)
	}
	for _, want := range []int64{1, 0} {
		if got, err := db.EraseHints(t.Context(), "mine@EXAMPLE.com"); err != nil || got != want {
			t.Errorf("erased %d %v, want %d", got, err, want)
		}
	}
	wantCount(t, db, 1)
	wantSession(t, db, quote.Session{
		ID: "hinted", Selections: hinted.Selections, Estimate: hinted.Estimate, FirstSeen: When(), LastSeen: When(), Visits: 1,
	})
	wantSession(t, db, quote.Session{
		ID: "theirs", Selections: theirs.Selections, Estimate: theirs.Estimate, Hints: theirs.Hints, FirstSeen: When(), LastSeen: When(), Visits: 1,
	})
	if err := db.Erase(t.Context(), own.Submission.ID); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{`SELECT state FROM sessions`, `SELECT body FROM submissions`} {
		for _, text := range s.Strings(t, query) {
			if strings.Contains(strings.ToLower(text), "mine@") {
				t.Errorf("%s still gives %s", query, text)
			}
		}
	}
}

// hintsOfMany: more than is erased in one transaction, among others.
func hintsOfMany(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	const n = 1300
	fill(t, n, func(i int) error {
		v := Visit(fmt.Sprint("s", i), When())
		if i%2 == 0 {
			v.Hints.Email = "many@example.com"
		}
		return db.Track(t.Context(), v)
	})
	if got, err := db.EraseHints(t.Context(), "many@example.com"); err != nil || got != n/2 {
		t.Errorf("erased %d %v, want %d", got, err, n/2)
	}
	if got, err := db.CountHints(t.Context(), "many@example.com"); err != nil || got != 0 {
		t.Errorf("left are %d %v", got, err)
	}
}

// hintsWhileTracked: erasing beside visitors who go on loses none of their choices.
func hintsWhileTracked(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	const visits = 200
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer stop()
		for i := range visits {
			v := Visit("busy", When().Add(time.Duration(i)*time.Millisecond))
			v.Selections.Timeline = fmt.Sprint("step-", i)
			if err := db.Track(t.Context(), v); err != nil {
				t.Error(err)
			}
		}
	})
	for ctx.Err() == nil {
		if _, err := db.EraseHints(t.Context(), "ana@example.com"); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if _, err := db.EraseHints(t.Context(), "ana@example.com"); err != nil {
		t.Error(err)
	}
	got, err := db.Session(t.Context(), "busy")
	if err != nil {
		t.Fatal(err)
	}
	if got.Visits != visits || got.Selections.Timeline != fmt.Sprint("step-", visits-1) || got.Hints != (quote.Hints{}) {
		t.Errorf("the session is %+v", got)
	}
}
