package storetest

import (
	"slices"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// leadChanges checks that everything that changes a lead is noted with it, for every
// instance.
func leadChanges(t *testing.T, s Subject) {
	db, other := s.MustOpen(t, &Jobs{}), s.MustOpen(t, nil)

	since, seen := time.Now().Add(-time.Hour), int64(0)
	want := func(what string, id string, kinds ...store.ChangeKind) {
		t.Helper()
		list, now, err := other.ChangesSince(t.Context(), since, 100)
		list = slices.DeleteFunc(list, func(c store.LeadChange) bool { return c.Seq <= seen })
		if err != nil || len(list) == 0 || time.Since(now).Abs() > time.Minute {
			t.Fatalf("%s: %d changes, %v", what, len(list), err)
		}

		found := false
		for _, c := range list {
			if found = found || c.Kind == kinds[0]; c.Seq <= seen || c.Lead != id || !slices.Contains(kinds, c.Kind) ||
				time.Since(c.At).Abs() > time.Minute {
				t.Errorf("%s: %+v", what, c)
			}
			seen = c.Seq
		}
		if !found {
			t.Errorf("%s: %+v, want kind %d", what, list, kinds[0])
		}
	}

	first := Lead(1)
	submit(t, db, first)
	want("submitted", first.Lead.ID, store.LeadCreated, store.LeadChanged)
	end(t, db, first.Lead.ID, lead.Failed)
	want("failed", first.Lead.ID, store.LeadChanged)
	ok(t, db.ResendLead(t.Context(), first.Lead.ID, lead.CRM, ""))
	want("sent again", first.Lead.ID, store.LeadChanged)
	_, err := db.Assign(t.Context(), first.Lead.ID, "ana@example.com")
	ok(t, err)
	want("assigned", first.Lead.ID, store.LeadChanged)
	ok(t, db.AddNote(t.Context(), first.Lead.ID, lead.Note{At: When(), Author: "token", Text: "Called."}))
	want("noted", first.Lead.ID, store.LeadChanged)
	ok(t, db.Erase(t.Context(), first.Lead.ID))
	want("erased", first.Lead.ID, store.LeadErased, store.LeadChanged)

	mustTrack(t, db, Visit("other", When()))
	list, now, err := db.ChangesSince(t.Context(), since, 100)
	if err != nil || len(list) == 0 || list[len(list)-1].Seq != seen {
		t.Errorf("nothing changed, but %+v, %v", list, err)
	}
	if list, _, err := db.ChangesSince(t.Context(), since, 2); err != nil || len(list) != 2 {
		t.Errorf("two changes: %+v, %v", list, err)
	}
	if list, _, err := db.ChangesSince(t.Context(), now.Add(time.Second), 100); err != nil || len(list) != 0 {
		t.Errorf("changes to come: %+v, %v", list, err)
	}

	n, err := db.PruneChanges(t.Context(), time.Now().Add(time.Hour))
	rest, _, errRest := db.ChangesSince(t.Context(), since, 100)
	if err != nil || errRest != nil || n == 0 || len(rest) != 0 {
		t.Errorf("pruned %d, %v; %+v, %v remain", n, err, rest, errRest)
	}
}
