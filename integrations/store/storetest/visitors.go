package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// agreeing returns a visit of somebody who agreed that what is typed is kept.
func agreeing(session string, at time.Time) lead.Visit {
	v := Visit(session, at)
	v.Hints.Email, v.Hints.Agreed = session+"@Example.com", true
	return v
}

// visitors returns the sessions of visitors who left before a time.
func visitors(t *testing.T, db Store, f store.VisitorFilter) (ids []string) {
	t.Helper()
	found, err := db.VisitorsWhoLeft(t.Context(), f)
	if err != nil {
		t.Error(err)
	}
	for _, v := range found {
		ids = append(ids, v.ID)
	}
	return ids
}

// Only the latest state of a session counts: whether the visitor agreed, and to the keeping
// of which address.
func visitorsWhoLeft(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	minute := func(n int) time.Time { return When().Add(time.Duration(n) * time.Minute) }
	want := func(why string, ids ...string) {
		t.Helper()
		if got := visitors(t, db, store.VisitorFilter{Before: minute(50), Limit: 100}); !slices.Equal(got, ids) {
			t.Errorf("%s: %v, want %v", why, got, ids)
		}
	}

	taken, anonymous, late := agreeing("taken", minute(2)), agreeing("anonymous", minute(3)), agreeing("left", minute(1))
	taken.Hints.Agreed, anonymous.Hints.Email, late.Hints.Agreed = false, "", false
	late.At = late.At.Add(-time.Second)
	mustTrack(t, db,
		agreeing("taken", minute(1)), agreeing("left", minute(1)), agreeing("later", minute(2)),
		agreeing("since", minute(51)), Visit("asked nothing", minute(1)), anonymous, late)
	want("before it is taken back", "later", "taken", "left")
	mustTrack(t, db, taken)
	want("after it was taken back", "later", "left")

	session, err := db.VisitorsWhoLeft(t.Context(), store.VisitorFilter{Before: minute(1), Limit: 1})
	left := seenOnce(agreeing("left", minute(1)))
	left.FirstSeen, left.Visits = late.At, 2
	if err != nil || len(session) != 1 || !reflect.DeepEqual(session[0], left) {
		t.Errorf("%v: got %+v, want %+v", err, session, left)
	}

	// A lead of the session, whenever it was, or of the address since then.
	submit := func(n int, session, email string, at time.Time) {
		sub := Lead(n)
		sub.Lead.SessionID, sub.Lead.Contact.Email, sub.Lead.SubmittedAt = session, email, at
		sub.Lead.InReview = true
		wantSubmit(t, db, sub, sub, true)
	}
	mustTrack(t, db, agreeing("own", minute(5)), agreeing("address", minute(6)), agreeing("back", minute(7)))
	submit(1, "own", "other@example.com", minute(4))
	submit(2, "other", "ADDRESS@example.com", minute(6))
	submit(3, "another", "back@example.com", minute(6))
	mustTrack(t, db, agreeing("own", minute(8)))
	want("after leads", "back", "later", "left")
	if at := s.Strings(t, `SELECT id FROM sessions WHERE saved_at > 0 ORDER BY id`); !slices.Equal(at,
		[]string{"back", "later", "left", "since"}) {
		t.Errorf("the index holds %v: a list reads those that a lead came from", at)
	}

	// An earlier release that stores a state, or erases what was typed, knows nothing of a list.
	mustTrack(t, db, agreeing("erased", minute(9)))
	s.Exec(t, `UPDATE sessions SET last_seen = last_seen + 1, state = '{"hints":{"email":"x@y.test","agreed":true}}'
WHERE id = 'later'`)
	s.Exec(t, `UPDATE sessions SET state = '{}' WHERE id = 'erased'`)
	want("after an earlier release", "back", "left")
	none(t, s, "after an earlier release", "later", "erased")

	if n, err := db.EraseHints(t.Context(), "LEFT@example.com"); err != nil || n != 1 {
		t.Error(n, err)
	}
	want("after an erasure", "back")
	none(t, s, "after an erasure", "left", "taken")
	if _, err := db.PruneSessions(t.Context(), minute(8)); err != nil {
		t.Error(err)
	}
	want("after the retention")
}

// none fails the test if the address of a session is still stored beside its state.
func none(t *testing.T, s Subject, why string, sessions ...string) {
	t.Helper()
	for _, id := range sessions {
		found := s.Strings(t, `SELECT saved_email FROM sessions WHERE id = '`+id+`'`)
		if !slices.Equal(found, []string{""}) {
			t.Errorf("%s the session %q has the address %q", why, id, found)
		}
	}
}

// Visitors who were last seen in the same millisecond are each on one page.
func visitorsPages(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	const n = 12
	var want []string
	for i := range n {
		mustTrack(t, db, agreeing(fmt.Sprintf("s%02d", i), When().Add(time.Duration(i/5)*time.Second)))
		want = append([]string{fmt.Sprintf("s%02d", i)}, want...)
	}

	f := store.VisitorFilter{Before: When().Add(time.Hour), Limit: 3}
	var got []string
	for range n {
		page, err := db.VisitorsWhoLeft(t.Context(), f)
		if err != nil || len(page) == 0 {
			break
		}
		last := page[len(page)-1]
		f.After = &store.VisitorPosition{LastSeen: last.LastSeen, SessionID: last.ID}
		for _, v := range page {
			got = append(got, v.ID)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages have %v, want %v", got, want)
	}
}
