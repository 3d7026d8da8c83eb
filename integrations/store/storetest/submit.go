package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

func submitRoundTrip(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	minimal := store.NewSubmission{
		Submission: quote.Submission{
			ID: "minimal", SessionID: "m", Contact: quote.Contact{FirstName: "A", LastName: "B", Email: "a@b.co"},
			Selections: quote.Selections{ProjectType: "x"}, Estimate: quote.Estimate{Currency: "USD"}, SubmittedAt: When(),
		},
		ContentKey: "minimal",
	}
	for _, n := range []store.NewSubmission{Submission(1), minimal} {
		wantSubmit(t, db, n, n.Submission, true)
		got, err := db.Submission(t.Context(), n.Submission.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, n.Submission) {
			t.Errorf("submission\n got %+v\nwant %+v", got, n.Submission)
		}
	}
	if _, err := db.Submission(t.Context(), "nobody"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown submission gives %v, want ErrNotFound", err)
	}
	wantCount(t, db, 2)
}

func submitRepeatedContent(t *testing.T, s Subject) {
	db := s.MustOpen(t, s.jobs(t))
	first, again := Submission(1), Submission(2)
	again.ContentKey = first.ContentKey
	wantSubmit(t, db, first, first.Submission, true)
	wantSubmit(t, db, again, first.Submission, false)
	wantSubmit(t, db, first, first.Submission, false)
	wantCount(t, db, 1)
	wantStrings(t, s, `SELECT submission_id FROM jobs`, first.Submission.ID)

	// A key that came with a repetition stands for that content from then on.
	again.IdempotencyKey = "key"
	wantSubmit(t, db, again, first.Submission, false)
	other := Submission(3)
	other.IdempotencyKey = "key"
	wantReused(t, db, other)
	wantCount(t, db, 1)
}

func submitRepeatedKey(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	first := Submission(1)
	first.IdempotencyKey = "key"
	wantSubmit(t, db, first, first.Submission, true)
	wantSubmit(t, db, first, first.Submission, false)
	again := Submission(2)
	again.ContentKey, again.IdempotencyKey = first.ContentKey, "another key"
	wantSubmit(t, db, again, first.Submission, false)
	second := Submission(3)
	second.IdempotencyKey = "third key"
	wantSubmit(t, db, second, second.Submission, true)
	wantCount(t, db, 2)
}

// Other content under a key that is taken is refused and leaves nothing behind.
func submitOtherContent(t *testing.T, s Subject) {
	db := s.MustOpen(t, s.jobs(t))
	first, other := Submission(1), Submission(2)
	first.IdempotencyKey, other.IdempotencyKey = "key", "key"
	wantSubmit(t, db, first, first.Submission, true)
	wantReused(t, db, other)
	wantCount(t, db, 1)
	wantStrings(t, s, `SELECT submission_id FROM jobs`, first.Submission.ID)
	wantSubmit(t, db, first, first.Submission, false)
	other.IdempotencyKey = "a new key"
	wantSubmit(t, db, other, other.Submission, true)
}

func wantReused(t *testing.T, db Store, n store.NewSubmission) {
	t.Helper()
	if _, _, err := db.Submit(t.Context(), n); !errors.Is(err, store.ErrKeyReused) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("other content under a used key gives %v, want ErrKeyReused", err)
	}
}

// Submissions that share a transaction are handed to the queue together, each once.
func submitDeliveries(t *testing.T, s Subject) {
	h := s.jobs(t)
	var calls atomic.Int64
	table := h.Enqueue
	h.Enqueue = func(ctx context.Context, exec Exec, ids []string) error {
		calls.Add(1)
		return table(ctx, exec, ids)
	}
	db := s.MustOpen(t, h)
	const n = 100
	ids, created := atOnce(t, []Store{db}, n, Submission)
	if len(ids) != n || created != n {
		t.Errorf("%d ids and %d created, want %d", len(ids), created, n)
	}
	jobs := s.Strings(t, `SELECT submission_id FROM jobs`)
	if len(jobs) != n || calls.Load() > n {
		t.Errorf("%d jobs from %d calls, want %d from no more", len(jobs), calls.Load(), n)
	}
	for _, id := range jobs {
		delete(ids, id)
	}
	if len(ids) != 0 {
		t.Errorf("without a job: %v", ids)
	}
}

// Where the deliveries can't be created nothing of the submission is stored, and
// requests that share its transaction don't suffer.
func submitFailingDeliveries(t *testing.T, s Subject) {
	h := s.jobs(t)
	broken := errors.New("no queue")
	var heal atomic.Bool
	table := h.Enqueue
	h.Enqueue = func(ctx context.Context, exec Exec, ids []string) error {
		if err := table(ctx, exec, ids); err != nil {
			return err
		}
		for _, id := range ids {
			if !heal.Load() && strings.HasSuffix(id, "7") {
				return broken
			}
		}
		return nil
	}
	db := s.MustOpen(t, h)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if i%2 == 0 {
				if err := db.Track(t.Context(), Visit(fmt.Sprint(i), When())); err != nil {
					t.Error(err)
				}
			}
			n := Submission(i)
			n.IdempotencyKey = fmt.Sprint(i)
			_, _, err := db.Submit(t.Context(), n)
			if want := i%10 == 7; errors.Is(err, broken) != want {
				t.Errorf("submission %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	wantCount(t, db, 36)
	if jobs := s.Strings(t, `SELECT submission_id FROM jobs`); len(jobs) != 36 {
		t.Errorf("%d jobs, want 36", len(jobs))
	}
	if keys := s.Strings(t, `SELECT key FROM submission_keys`); len(keys) != 36 {
		t.Errorf("%d keys, want 36", len(keys))
	}
	heal.Store(true)
	n := Submission(7)
	n.IdempotencyKey = "7"
	wantSubmit(t, db, n, n.Submission, true)
}

// An id that is taken by other content is a mistake of the caller and stores nothing.
func submitTakenID(t *testing.T, s Subject) {
	db := s.MustOpen(t, Hooks{})
	first, other := Submission(1), Submission(2)
	other.Submission.ID = first.Submission.ID
	wantSubmit(t, db, first, first.Submission, true)
	_, _, err := db.Submit(t.Context(), other)
	if err == nil || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a taken id gives %v, want an error that does not pass", err)
	}
	wantSubmit(t, db, Submission(3), Submission(3).Submission, true)
	wantCount(t, db, 2)
}

func wantSubmit(t *testing.T, db Store, n store.NewSubmission, want quote.Submission, wantCreated bool) {
	t.Helper()
	got, created, err := db.Submit(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if created != wantCreated || !reflect.DeepEqual(got, want) {
		t.Errorf("submit\n got %+v, %v\nwant %+v, %v", got, created, want, wantCreated)
	}
}

func wantCount(t *testing.T, db Store, want int64) {
	t.Helper()
	got, err := db.CountSubmissions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%d submissions, want %d", got, want)
	}
}

func wantStrings(t *testing.T, s Subject, query string, want ...string) {
	t.Helper()
	if got := s.Strings(t, query); len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %q, want %q", query, got, want)
	}
}
