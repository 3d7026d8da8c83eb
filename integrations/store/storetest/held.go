package storetest

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// Suspicious makes a submission that is held for review.
func Suspicious(n int) store.NewSubmission {
	s := Submission(n)
	s.Submission.Signals, s.Submission.Held = []quote.Signal{quote.Honeypot, quote.Untracked}, true
	s.Submission.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	return s
}

// A held submission is stored whole, listed as such, and handed to no queue.
func heldKeptBack(t *testing.T, s Subject) {
	db := s.MustOpen(t, s.jobs(t))
	wantHeld(t, db, 0, time.Time{})
	wantSubmit(t, db, Submission(1), Submission(1).Submission, true)
	for _, n := range []int{3, 2} {
		wantSubmit(t, db, Suspicious(n), Suspicious(n).Submission, true)
	}
	wantStrings(t, s, `SELECT submission_id FROM jobs`, "id-000001")
	wantHeld(t, db, 2, Suspicious(2).Submission.SubmittedAt)
	wantCount(t, db, 3)
	var listed []quote.Submission
	for got, err := range db.Submissions(t.Context(), store.Filter{Held: true}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, got)
	}
	if want := []quote.Submission{Suspicious(2).Submission, Suspicious(3).Submission}; !reflect.DeepEqual(listed, want) {
		t.Errorf("held are\n%+v\nwant\n%+v", listed, want)
	}
}

// A release creates the deliveries once, however many ask for it at the same time.
func heldReleased(t *testing.T, s Subject) {
	h := s.jobs(t)
	instances := []Store{s.MustOpen(t, h), s.MustOpen(t, h)}
	db := instances[0]
	wantSubmit(t, db, Suspicious(1), Suspicious(1).Submission, true)
	id := Suspicious(1).Submission.ID
	var released atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			ok, err := instances[i%2].Release(t.Context(), id)
			if err != nil {
				t.Error(err)
			}
			if ok {
				released.Add(1)
			}
		})
	}
	wg.Wait()
	if released.Load() != 1 {
		t.Errorf("%d of eight say that they released it, want 1", released.Load())
	}
	wantStrings(t, s, `SELECT submission_id FROM jobs`, id)
	wantHeld(t, db, 0, time.Time{})
	want := Suspicious(1).Submission
	want.Held = false // what made it suspicious stays
	if got, err := db.Submission(t.Context(), id); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("released: %+v, %v", got, err)
	}
	if _, err := db.Release(t.Context(), "nobody"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("releasing an unknown one gives %v, want ErrNotFound", err)
	}
}

// Where the deliveries can't be created the submission stays held.
func heldFailingDeliveries(t *testing.T, s Subject) {
	broken := errors.New("no queue")
	db := s.MustOpen(t, Hooks{Enqueue: func(context.Context, Exec, []string) error { return broken }})
	wantSubmit(t, db, Suspicious(1), Suspicious(1).Submission, true)
	if ok, err := db.Release(t.Context(), "id-000001"); ok || !errors.Is(err, broken) {
		t.Errorf("got %v, %v, want the error of the queue", ok, err)
	}
	wantHeld(t, db, 1, Suspicious(1).Submission.SubmittedAt)
}

// A repetition of a held submission neither releases it nor makes another, whether it
// looks suspicious itself or not.
func heldRepeated(t *testing.T, s Subject) {
	db := s.MustOpen(t, s.jobs(t))
	wantSubmit(t, db, Suspicious(1), Suspicious(1).Submission, true)
	again := Submission(2)
	again.ContentKey = Suspicious(1).ContentKey
	wantSubmit(t, db, again, Suspicious(1).Submission, false)
	wantSubmit(t, db, Suspicious(1), Suspicious(1).Submission, false)
	wantStrings(t, s, `SELECT submission_id FROM jobs`)

	// Nor does a suspicious repetition hold what was delivered.
	wantSubmit(t, db, Submission(3), Submission(3).Submission, true)
	late := Suspicious(4)
	late.ContentKey = Submission(3).ContentKey
	wantSubmit(t, db, late, Submission(3).Submission, false)
	wantHeld(t, db, 1, Suspicious(1).Submission.SubmittedAt)
}

func wantHeld(t *testing.T, db Store, number int64, oldest time.Time) {
	t.Helper()
	n, at, err := db.Held(t.Context())
	if err != nil || n != number || !at.Equal(oldest) {
		t.Errorf("%d are held since %v, %v; want %d since %v", n, at, err, number, oldest)
	}
}
