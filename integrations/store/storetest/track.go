package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// The latest state is stored, whether it is complete or partial.
func track(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	zero := 0.0

	for name, v := range map[string]lead.Visit{
		"nothing":    {},
		"minimum":    {Estimate: lead.PartialEstimate{Min: &zero}},
		"first name": {Hints: lead.Hints{FirstName: "Ț 😀 \x00 '"}},
		"all":        Visit("", When()),
	} {
		for range 2 {
			v.SessionID, v.At = name, When()
			mustTrack(t, db, v)
		}
		want := seenOnce(v)
		want.Visits = 2
		wantSession(t, db, want)
	}

	if _, err := db.Session(t.Context(), "unknown"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown session returned %v, want ErrNotFound", err)
	}
}

// A late state is counted but does not replace a newer one. After a clock was set back,
// the last state to arrive is the latest. A session keeps its earliest touch and its
// latest one with a source, or else its latest one.
func trackLate(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	for i, c := range []struct {
		after                   time.Duration
		source, referrer        string
		kept, first, last, from string // project of the state, and touches that are stored
	}{
		{0, "", "", "0", "", "", ""},
		{time.Minute, "", "a", "1", "a", "a", ""},
		{2 * time.Minute, "", "b", "2", "a", "b", ""},
		{3 * time.Minute, "ads", "c", "3", "a", "c", "ads"},
		{4 * time.Minute, "", "d", "4", "a", "c", "ads"},
		{4*time.Minute - time.Millisecond, "late", "e", "4", "a", "c", "ads"},
		{3 * time.Minute, "late", "f", "4", "a", "c", "ads"},
		{5 * time.Minute, "mail", "g", "7", "a", "g", "mail"},
		{5 * time.Minute, "", "", "8", "a", "g", "mail"},          // the same moment
		{-time.Millisecond, "first", "h", "9", "h", "h", "first"}, // the clock was set back
	} {
		mustTrack(t, db, lead.Visit{
			SessionID:   "s",
			At:          When().Add(c.after),
			Selections:  lead.Selections{ProjectType: fmt.Sprint(i)},
			Attribution: lead.Attribution{Source: c.source, Referrer: c.referrer},
		})
		got, err := db.Session(t.Context(), "s")
		if err != nil || got.Selections.ProjectType != c.kept || got.Visits != int64(i+1) ||
			got.FirstTouch.Referrer != c.first || got.LastTouch.Referrer != c.last || got.LastTouch.Source != c.from {
			t.Errorf("step %d: %v, %+v", i, err, got)
		}
	}
}

// A request that ends while it waits stores nothing; one that has begun gets its result.
// Closing writes the waiting requests and rejects later ones.
func requestEnded(t *testing.T, s Subject) {
	db, err := s.Open(t.Context(), nil)
	ok(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := db.Submit(ended, Lead(1)); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("submitting returned %v, want ErrUnavailable and context.Canceled", err)
	}
	wantCount(t, db, 0)

	const n = 300
	var errs [n]error
	concurrently(n, func(i int) {
		if i == n*2/3 {
			err = db.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
		defer cancel()
		errs[i] = db.Track(ctx, Visit(fmt.Sprint("s", i), When()))
	})
	if err != nil || !errors.Is(errs[n*2/3], store.ErrUnavailable) {
		t.Errorf("closing returned %v, and tracking afterward %v, want ErrUnavailable", err, errs[n*2/3])
	}

	db = s.MustOpen(t, nil)
	for i, err := range errs {
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("tracking returned %v, want ErrUnavailable", err)
		}
		if _, missing := db.Session(t.Context(), fmt.Sprint("s", i)); (missing == nil) != (err == nil) {
			t.Errorf("session %d: reading it returned %v, but tracking it had returned %v", i, missing, err)
		}
	}
}
