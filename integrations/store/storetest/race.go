package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"siteapi/integrations/store"
)

// Two instances get the same content many times at the same moment.
func submitContentAtOnce(t *testing.T, s Subject) {
	h := s.jobs(t)
	dbs := []Store{s.MustOpen(t, h), s.MustOpen(t, h)}
	for round := range 5 {
		ids, created := atOnce(t, dbs, 16, func(i int) store.NewSubmission {
			n := Submission(round*100 + i)
			n.ContentKey = fmt.Sprint("round ", round)
			return n
		})
		if len(ids) != 1 || created != 1 {
			t.Errorf("round %d: %d ids and %d created, want one of each", round, len(ids), created)
		}
		wantCount(t, dbs[0], int64(round+1))
	}
	if jobs := s.Strings(t, `SELECT submission_id FROM jobs`); len(jobs) != 5 {
		t.Errorf("%d submissions were handed to the queue, want 5", len(jobs))
	}
}

// Two instances get different content under one key at the same moment: one is stored.
func submitKeyAtOnce(t *testing.T, s Subject) {
	h := s.jobs(t)
	dbs := []Store{s.MustOpen(t, h), s.MustOpen(t, h)}
	const clients = 16
	for round := range 5 {
		ids, created := atOnce(t, dbs, clients, func(i int) store.NewSubmission {
			n := Submission(round*100 + i)
			n.IdempotencyKey = fmt.Sprint("round ", round)
			return n
		})
		if len(ids) != 1 || created != 1 {
			t.Errorf("round %d: %d ids and %d created, want one of each", round, len(ids), created)
		}
		wantCount(t, dbs[0], int64(round+1))
	}
}

// atOnce submits from several goroutines and returns the ids that came back with the
// number of submissions said to be new.
func atOnce(t *testing.T, dbs []Store, clients int, make func(i int) store.NewSubmission) (map[string]bool, int64) {
	t.Helper()
	var mu sync.Mutex
	var created atomic.Int64
	ids := map[string]bool{}
	var wg sync.WaitGroup
	for i := range clients {
		n := make(i)
		wg.Go(func() {
			got, isNew, err := dbs[i%len(dbs)].Submit(t.Context(), n)
			if errors.Is(err, store.ErrKeyReused) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			if isNew {
				created.Add(1)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[got.ID] = true
		})
	}
	wg.Wait()
	return ids, created.Load()
}
