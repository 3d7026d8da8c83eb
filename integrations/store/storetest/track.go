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

// The latest state is kept, whether it is complete or partial.
func track(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	zero := 0.0

	for name, v := range map[string]lead.Visit{
		"nothing":    {},
		"minimum":    {Estimate: lead.PartialEstimate{Min: &zero}},
		"first name": {Hints: lead.Hints{FirstName: "Ț 😀 \x00 '"}},
		"features":   {Selections: lead.Selections{Features: []string{"a", "b"}}},
		"all":        Visit("", When()),
	} {
		v.SessionID, v.At = name, When()
		mustTrack(t, db, v)
		wantSession(t, db, seenOnce(v))

		from := v.Attribution
		v.Attribution = lead.Attribution{}
		v.Hints, v.Selections, v.At =
			lead.Hints{}, lead.Selections{ProjectType: "web-app"}, When().Add(time.Minute)
		mustTrack(t, db, v)

		want := seenOnce(v)
		want.FirstSeen, want.Visits = When(), 2
		want.FirstTouch, want.LastTouch = from, from
		wantSession(t, db, want)
	}

	if _, err := db.Session(t.Context(), "unknown"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown session gives %v, want ErrNotFound", err)
	}
}

// A state that arrives late is counted but does not replace a newer one. After a clock
// has been set back, the state that arrives last is the latest.
func trackLate(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	want := lead.Session{ID: "s", FirstSeen: When()}

	for _, c := range []struct {
		project string
		after   time.Duration
		kept    bool
	}{
		{"new", 0, true},
		{"late", -time.Millisecond, false},
		{"by a minute", -time.Minute, false},
		{"clock set back", -time.Minute - time.Millisecond, true},
		{"on", time.Hour, true},
		{"same moment", time.Hour, true},
	} {
		at := When().Add(c.after)
		mustTrack(t, db, lead.Visit{
			SessionID:  "s",
			At:         at,
			Selections: lead.Selections{ProjectType: c.project},
		})

		want.Visits++
		if at.Before(want.FirstSeen) {
			want.FirstSeen = at
		}

		if c.kept {
			want.Selections.ProjectType, want.LastSeen = c.project, at
		}
		wantSession(t, db, want)
	}
}

// The first touch of a session is kept, and the last one with a source. A state that
// arrives late may be the first.
func touches(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	from := func(source, referrer string) lead.Attribution {
		return lead.Attribution{Source: source, Referrer: referrer}
	}

	for i, c := range []struct {
		after             time.Duration
		said, first, last lead.Attribution
	}{
		{},
		{time.Minute, from("", "a"), from("", "a"), from("", "a")},
		{2 * time.Minute, from("", "b"), from("", "a"), from("", "b")},
		{3 * time.Minute, from("ads", ""), from("", "a"), from("ads", "")},
		{4 * time.Minute, from("", "c"), from("", "a"), from("ads", "")},
		{5 * time.Minute, lead.Attribution{}, from("", "a"), from("ads", "")},
		{6 * time.Minute, from("mail", "d"), from("", "a"), from("mail", "d")},
		{6*time.Minute - 1e9, from("late", ""), from("", "a"), from("mail", "d")},
		{-time.Second, from("first", ""), from("first", ""), from("first", "")}, // the clock was set back
	} {
		mustTrack(t, db, lead.Visit{SessionID: "s", At: When().Add(c.after), Attribution: c.said})
		got, err := db.Session(t.Context(), "s")
		if err != nil || got.FirstTouch != c.first || got.LastTouch != c.last {
			t.Errorf("step %d: %v first %+v, last %+v", i, err, got.FirstTouch, got.LastTouch)
		}
	}
}

// A request that ends while it waits stores nothing. A request that has begun gets its
// outcome. Closing lets waiting requests be written and refuses the ones that come later.
func requestEnded(t *testing.T, s Subject) {
	db, err := s.Open(t.Context(), nil)
	ok(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := db.Submit(ended, Lead(1)); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("submitting gives %v, want ErrUnavailable because of the end of the request", err)
	}
	wantCount(t, db, 0)

	const n = 300
	var answers [n]error
	together(n, func(i int) {
		if i == n*2/3 {
			err = db.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
		defer cancel()
		answers[i] = db.Track(ctx, Visit(fmt.Sprint("s", i), When()))
	})
	if err != nil || !errors.Is(answers[n*2/3], store.ErrUnavailable) {
		t.Errorf("closing gives %v, tracking afterwards %v, want ErrUnavailable", err, answers[n*2/3])
	}

	db = s.MustOpen(t, nil)
	for i, err := range answers {
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("tracking gives %v, want ErrUnavailable", err)
		}
		if _, missing := db.Session(t.Context(), fmt.Sprint("s", i)); (missing == nil) != (err == nil) {
			t.Errorf("session %d: %v, but the answer was %v", i, missing, err)
		}
	}
}
