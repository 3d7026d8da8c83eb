package storetest

import (
	"slices"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Each change of a lead is recorded with it and visible to every instance.
func leadChanges(t *testing.T, s Subject) {
	db, other := s.MustOpen(t, &Jobs{}), s.MustOpen(t, nil)
	id, since, seen := Lead(1).Lead.ID, time.Now().Add(-time.Hour), int64(0)

	for _, tt := range []struct {
		name string
		act  func() error
		want store.ChangeKind // 0: nothing changes
	}{
		{"submitted", func() error { submit(t, db, Lead(1)); return nil }, store.LeadCreated},
		{"failed", func() error { end(t, db, id, lead.Failed); return nil }, store.LeadChanged},
		{"noted", func() error { return db.AddNote(t.Context(), id, lead.Note{Text: "Called."}) }, store.LeadChanged},
		{"erased", func() error { return db.Erase(t.Context(), id) }, store.LeadErased},
		{"tracked", func() error { return db.Track(t.Context(), Visit("other", When())) }, 0},
	} {
		ok(t, tt.act())
		list, now, err := other.ChangesSince(t.Context(), since, 100)
		list = slices.DeleteFunc(list, func(c store.LeadChange) bool { return c.Seq <= seen })
		found := slices.ContainsFunc(list, func(c store.LeadChange) bool {
			return c.Kind == tt.want && c.Lead == id && now.Sub(c.At).Abs() < time.Minute
		})
		if err != nil || found != (len(list) > 0) || found != (tt.want > 0) || time.Since(now).Abs() > time.Minute {
			t.Errorf("%s: %+v, %v, want kind %d", tt.name, list, err, tt.want)
		}
		for _, c := range list {
			seen = c.Seq
		}
	}

	if list, _, err := db.ChangesSince(t.Context(), since, 2); err != nil || len(list) != 2 {
		t.Errorf("two changes: %+v, %v", list, err)
	}
	n, err := db.PruneChanges(t.Context(), time.Now().Add(time.Hour))
	remaining, _, errRemaining := db.ChangesSince(t.Context(), since, 100)
	if err != nil || errRemaining != nil || n == 0 || len(remaining) != 0 {
		t.Errorf("pruned %d, %v; %+v, %v remain", n, err, remaining, errRemaining)
	}
}
