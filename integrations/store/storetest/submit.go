package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

func submitRoundTrip(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	minimal := store.NewLead{
		Lead:       lead.Lead{ID: "minimal", SubmittedAt: When(), Status: lead.StatusNew, Progress: lead.Delivered},
		ContentKey: "minimal",
	}

	for _, n := range []store.NewLead{Lead(1), Suspicious(2), minimal} {
		wantSubmit(t, db, n, n, true)
		if got, err := db.Lead(t.Context(), n.Lead.ID); err != nil ||
			!reflect.DeepEqual(got, n.Lead) {
			t.Errorf("the lead, %v\n got %+v\nwant %+v", err, got, n.Lead)
		}
	}

	if _, err := db.Lead(t.Context(), "unknown"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown lead returned %v, want ErrNotFound", err)
	}
	wantCount(t, db, 3)
	if err := db.Ping(t.Context()); err != nil ||
		s.Strings(t, `SELECT CAST(at AS varchar(20)) FROM pulse`)[0] == "0" {
		t.Errorf("a ping returned %v, or wrote nothing", err)
	}
}

// The same content always yields the same lead. An idempotency key belongs to the content
// that it was first sent with.
func submitRepeated(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	first := Lead(1)
	again := Lead(2)
	again.ContentKey = first.ContentKey

	wantSubmit(t, db, first, first, true)
	wantSubmit(t, db, first, first, false)
	wantSubmit(t, db, again, first, false)

	without := again
	without.IdempotencyKey = ""
	wantSubmit(t, db, without, first, false)

	for _, key := range []string{first.IdempotencyKey, again.IdempotencyKey} {
		other := Lead(3)
		other.IdempotencyKey = key
		if _, _, err := db.Submit(t.Context(), other); !errors.Is(err, store.ErrKeyReused) {
			t.Errorf("other content under a used key returned %v, want ErrKeyReused", err)
		}
	}

	wantCount(t, db, 1)
	s.WantWaiting(t, "id-000001")
	wantSubmit(t, db, Lead(3), Lead(3), true)
}

// Two instances concurrently receive the same content, or different content under one
// key.
func submitAtOnce(t *testing.T, s Subject) {
	dbs := []Store{s.MustOpen(t, &Jobs{}), s.MustOpen(t, &Jobs{})}
	const rounds = 8
	for round := range rounds {
		var created atomic.Int64
		concurrently(16, func(i int) {
			n := Lead(round*100 + i)
			n.IdempotencyKey = fmt.Sprint("round ", round)
			if round%2 == 0 {
				n.ContentKey = n.IdempotencyKey
			}

			_, isNew, err := dbs[i%2].Submit(t.Context(), n)
			if isNew {
				created.Add(1)
			}
			if err != nil && (round%2 == 0 || !errors.Is(err, store.ErrKeyReused)) {
				t.Error(err)
			}
		})
		if created.Load() != 1 {
			t.Errorf("round %d: %d leads were created, want 1", round, created.Load())
		}
	}

	wantCount(t, dbs[0], rounds)
	if jobs := s.Strings(t, `SELECT lead_id FROM deliveries`); len(jobs) != rounds {
		t.Errorf("%d jobs, want %d", len(jobs), rounds)
	}
}

// If the deliveries can't be created, no part of the lead is stored, and requests that
// share its transaction are not affected.
func submitFailing(t *testing.T, s Subject) {
	broken := errors.New("no queue")
	var fixed atomic.Bool
	db := s.MustOpen(t, &Jobs{Fail: func(id string) error {
		if !fixed.Load() && strings.HasSuffix(id, "7") {
			return broken
		}
		return nil
	}})

	concurrently(40, func(i int) {
		ok(t, db.Track(t.Context(), Visit(fmt.Sprint(i), When())))
		if _, _, err := db.Submit(t.Context(), Lead(i)); errors.Is(err, broken) != (i%10 == 7) {
			t.Errorf("lead %d: %v", i, err)
		}
	})

	wantCount(t, db, 36)
	if keys := s.Strings(t, `SELECT key FROM idempotency_keys`); len(keys) != 36 {
		t.Errorf("%d keys, want 36", len(keys))
	}

	fixed.Store(true)
	wantSubmit(t, db, Lead(7), Lead(7), true)
}

// A lead in review is stored in full. It gets its deliveries when it is released, once,
// however often it is released. A repetition neither releases it nor puts a delivered
// lead in review.
func review(t *testing.T, s Subject) {
	jobs := &Jobs{}
	db := s.MustOpen(t, jobs)
	wantInReview(t, db, 0, time.Time{})
	submit(t, db, Lead(1))
	for _, n := range []int{3, 2} {
		submit(t, db, Suspicious(n))
	}

	again, late := Lead(4), Suspicious(5)
	again.ContentKey, late.ContentKey = Suspicious(2).ContentKey, Lead(1).ContentKey
	wantSubmit(t, db, again, Suspicious(2), false)
	wantSubmit(t, db, late, Lead(1), false)
	s.WantWaiting(t, "id-000001")
	wantInReview(t, db, 2, Suspicious(2).Lead.SubmittedAt)

	broken := errors.New("no queue")
	jobs.Fail = func(string) error { return broken }
	if done, err := db.Release(t.Context(), "id-000002", false); done || !errors.Is(err, broken) {
		t.Errorf("releasing without a queue: %v, %v", done, err)
	}
	jobs.Fail = nil

	for _, want := range []bool{true, false} {
		if done, err := db.Release(t.Context(), "id-000002", false); done != want || err != nil {
			t.Errorf("releasing: %v, %v, want %v", done, err, want)
		}
	}
	s.WantWaiting(t, "id-000001", "id-000002")
	wantInReview(t, db, 1, Suspicious(3).Lead.SubmittedAt)
}

func wantInReview(t *testing.T, db Store, number int64, oldest time.Time) {
	t.Helper()
	if n, at, err := db.InReview(t.Context()); err != nil || n != number || !at.Equal(oldest) {
		t.Errorf("%d are in review since %v, %v; want %d since %v", n, at, err, number, oldest)
	}
}
