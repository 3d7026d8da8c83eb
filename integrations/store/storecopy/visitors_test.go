package storecopy_test

import (
	"reflect"
	"testing"
	"time"

	"siteapi/integrations/store"
	"siteapi/integrations/store/storecopy"
	"siteapi/integrations/store/storetest"
)

// The copy knows which visitors left, and what each of them agreed to.
func TestCopyOfVisitorsWhoLeft(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		from, to func(t *testing.T, enqueue func(ids []string) error) *storecopy.Store
	}{
		"SQLite to PostgreSQL": {openSQLite, openPostgres},
		"PostgreSQL to SQLite": {openPostgres, openSQLite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := way.from(t, nothing), way.to(t, nothing)
			for session, agreed := range map[string]bool{"agrees": true, "declines": false} {
				v := storetest.Visit(session, storetest.When())
				v.Hints.Agreed = agreed
				if err := from.Track(t.Context(), v); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := storecopy.Copy(t.Context(), from, to, everything); err != nil {
				t.Fatal(err)
			}

			f := store.VisitorFilter{Before: storetest.When(), Limit: 10}
			want, err := from.VisitorsWhoLeft(t.Context(), f)
			got, err2 := to.VisitorsWhoLeft(t.Context(), f)
			if err != nil || err2 != nil || len(got) != 1 || !reflect.DeepEqual(got, want) {
				t.Errorf("%v %v: %+v, want %+v", err, err2, got, want)
			}
		})
	}
}

// Nobody who asked for a quote is among the visitors who left, also once retention has deleted
// the lead, and whichever copy brought it.
func TestCopyOfVisitorsWithLeads(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, func([]string) error) *storecopy.Store{
		"SQLite": openSQLite, "PostgreSQL": openPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := openSQLite(t, nothing), open(t, nothing)
			copied := func() {
				t.Helper()
				if _, err := storecopy.Copy(t.Context(), from, to, everything); err != nil {
					t.Fatal(err)
				}
			}
			pruned := func(db *storecopy.Store, want int64) {
				t.Helper()
				n, err := db.PruneLeads(t.Context(), storetest.When().AddDate(1, 0, 0))
				if err != nil || n != want {
					t.Fatalf("%d leads were deleted, %v, want %d", n, err, want)
				}
			}
			// leaves tracks a session whose address asks for a quote, then or later, in another.
			leaves := func(db *storecopy.Store, session string, n int, after time.Duration) {
				t.Helper()
				v := storetest.Visit(session, storetest.When().Add(after))
				v.Hints.Email, v.Hints.Agreed = storetest.Lead(n).Lead.Contact.Email, true
				if err := db.Track(t.Context(), v); err != nil {
					t.Fatal(err)
				}
			}

			leaves(from, "asked before the copies", 1, 0)
			submit(t, from, storetest.Lead(1))
			pruned(from, 1)
			leaves(from, "asks between the copies", 2, 0)
			leaves(from, "asks before a copy", 3, 0)
			leaves(from, "goes on in the other", 4, 0)
			leaves(from, "left", 5, 0)
			copied()

			submit(t, from, storetest.Lead(2))
			pruned(from, 1)
			submit(t, from, storetest.Lead(3))
			leaves(to, "goes on in the other", 4, time.Second)
			submit(t, from, storetest.Lead(4))
			copied()
			pruned(to, 2)

			for _, db := range []*storecopy.Store{from, to} {
				f := store.VisitorFilter{Before: storetest.When().Add(time.Hour), Limit: 10}
				got, err := db.VisitorsWhoLeft(t.Context(), f)
				if err != nil || len(got) != 1 || got[0].ID != "left" {
					t.Errorf("listed are %+v, %v", got, err)
				}
			}
		})
	}
}
