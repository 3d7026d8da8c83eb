package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Leads are given to operators, and get a status and notes. Each change is in the audit once,
// and an erasure leaves nothing of it.
func work(t *testing.T, s Subject) {
	db, other := s.MustOpen(t, nil), s.MustOpen(t, nil)
	id := Lead(1).Lead.ID
	submit(t, db, Lead(1))

	// Of sixteen who assign at once, each change is recorded, and no other.
	var changes atomic.Int64
	together(16, func(i int) {
		changed, err := []Store{db, other}[i%2].Assign(t.Context(), id, fmt.Sprintf("Sales%d@Example.com", i%2), entry(i, id))
		ok(t, err)
		if changed {
			changes.Add(1)
		}
	})
	entries, err := db.AuditEntries(t.Context(), store.AuditFilter{Lead: id, Limit: 50})
	if err != nil || changes.Load() == 0 || int64(len(entries)) != changes.Load() {
		t.Errorf("%d changes and %d entries, %v", changes.Load(), len(entries), err)
	}

	for _, want := range []bool{true, false} {
		if changed, err := db.SetStatus(t.Context(), id, lead.StatusWaiting, entry(0, id)); err != nil || changed != want {
			t.Errorf("the status changed: %v, %v, want %v", changed, err, want)
		}
	}
	got, err := db.Lead(t.Context(), id)
	if err != nil || got.Status != lead.StatusWaiting || !strings.HasPrefix(got.Owner, "sales") {
		t.Errorf("%+v, %v", got, err)
	}

	// Notes and the audit show the name that an entry came with.
	note := lead.Note{Author: "oidc:7", At: When(), Text: "asked for\nmore \"€\" 😀"}
	named := entry(0, id)
	named.Actor, named.Name = note.Author, "ana@example.com"
	for range store.MostNotes {
		ok(t, db.AddNote(t.Context(), id, note, named))
	}
	if err := db.AddNote(t.Context(), id, note, named); !errors.Is(err, store.ErrTooManyNotes) {
		t.Errorf("one note too many: %v", err)
	}
	note.Author = named.Name
	if got, err := db.Notes(t.Context(), []string{"none", id}); err != nil || got[id][1] != note {
		t.Errorf("%+v, %v, want %+v", got, err, note)
	}
	names, err := db.Operators(t.Context())
	entries, err2 := db.AuditEntries(t.Context(), store.AuditFilter{Limit: 1})
	if err != nil || err2 != nil || !slices.Equal(names, []string{named.Name}) || entries[0].Name != named.Name {
		t.Errorf("the operators are %v, the audit shows %+v; %v, %v", names, entries, err, err2)
	}

	ok(t, db.Erase(t.Context(), id))
	if left := s.Strings(t, `SELECT text FROM lead_notes`); len(left) != 0 {
		t.Errorf("%d notes are left of an erased lead", len(left))
	}
	if _, err := db.SetStatus(t.Context(), id, lead.StatusClosed, entry(0, id)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an erased lead gives %v, want ErrNotFound", err)
	}
}

// workFilters selects, sorts and counts leads by what they repeat of the body and by how
// operators work on them.
func workFilters(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	const n = 60
	for i := range n {
		sub := Lead(i)
		sub.Lead.Estimate = lead.Estimate{Min: float64(i % 7 * 1000), Max: 9000, Currency: []string{"EUR", "RON"}[i%2]}
		sub.Lead.Attribution.Source = []string{"", "ads", "Newsletter"}[i%3]
		sub.Lead.Attribution.Campaign = []string{"", "spring"}[i%2]
		sub.Lead.Selections.ProjectType = []string{"web-app", "web_app", "shop"}[i%3]
		sub.Lead.Consents = []lead.Consent{{Purpose: "marketing", Given: i%4 == 0}, {Purpose: "news", Given: true}}
		sub.Lead.Locale = []string{"en", "ro"}[i%2]
		sub.Lead.InReview = i%10 == 0
		submit(t, db, sub)
	}

	for i := range n {
		id := fmt.Sprintf("id-%06d", i)
		if i%4 == 1 {
			end(t, db, id, lead.Delivered)
		}
		_, err := db.Assign(t.Context(), id, []string{"", "Ana@example.com"}[i%5/4])
		ok(t, err)
		_, err = db.SetStatus(t.Context(), id, lead.Statuses()[i%4])
		ok(t, err)
	}

	withdrawn := Lead(8).Lead.Contact.Email
	if _, err := db.WithdrawConsent(t.Context(), withdrawn, "marketing", When()); err != nil {
		t.Fatal(err)
	}

	none, ads, ana := "", "ads", "ANA@example.com"
	low, high := 2000.0, 4000.0
	for name, tt := range map[string]struct {
		filter store.Filter
		want   func(i int) bool
	}{
		"all":       {store.Filter{}, func(int) bool { return true }},
		"newest":    {store.Filter{Newest: true}, func(int) bool { return true }},
		"largest":   {store.Filter{Newest: true, ByAmount: true}, func(int) bool { return true }},
		"smallest":  {store.Filter{ByAmount: true}, func(int) bool { return true }},
		"e-mail":    {store.Filter{Email: "aNA.7@example.COM"}, func(i int) bool { return i == 7 }},
		"reference": {store.Filter{Reference: "ID-00002"}, func(i int) bool { return i/10 == 2 }},
		"ids":       {store.Filter{IDs: []string{"id-000007", "none"}}, func(i int) bool { return i == 7 }},
		"between": {
			store.Filter{Since: When().Add(5 * time.Second), Until: When().Add(50 * time.Second)},
			func(i int) bool { return i >= 5 && i < 50 },
		},
		"owner":     {store.Filter{Owner: &ana}, func(i int) bool { return i%5 == 4 }},
		"no owner":  {store.Filter{Owner: &none}, func(i int) bool { return i%5 != 4 }},
		"status":    {store.Filter{Status: lead.StatusClosed}, func(i int) bool { return i%4 == 3 }},
		"no source": {store.Filter{Source: &none}, func(i int) bool { return i%3 == 0 }},
		"campaign":  {store.Filter{Campaign: "spring"}, func(i int) bool { return i%2 == 1 }},
		"project":   {store.Filter{ProjectType: "web_app"}, func(i int) bool { return i%3 == 1 }},
		"consent":   {store.Filter{Consent: "marketing"}, func(i int) bool { return i%4 == 0 && i != 8 }},
		"locale":    {store.Filter{Locale: "ro"}, func(i int) bool { return i%2 == 1 }},
		"amount": {
			store.Filter{Currency: "RON", AtLeast: &low, AtMost: &high},
			func(i int) bool { return i%2 == 1 && i%7 >= 2 && i%7 <= 4 },
		},
		"under way": {
			store.Filter{Progress: []lead.DeliveryState{lead.Retrying, lead.Pending}},
			func(i int) bool { return i%4 != 1 && i%10 != 0 },
		},
		"delivered, searched": {
			store.Filter{Search: "stefania obrien", Progress: []lead.DeliveryState{lead.Delivered}, Source: &ads},
			func(i int) bool { return i%4 == 1 && i%10 != 0 && i%3 == 1 },
		},
	} {
		var want []int
		for i := range n {
			if tt.want(i) {
				want = append(want, i)
			}
		}
		if tt.filter.ByAmount {
			slices.SortStableFunc(want, func(a, b int) int { return a%7 - b%7 })
		}
		if tt.filter.Newest {
			slices.Reverse(want)
		}
		if got := pageByPage(t, db, tt.filter); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}

		counts, err := db.CountWork(t.Context(), tt.filter)
		if total := store.NumberOf(counts); err != nil || total != len(want) {
			t.Errorf("%s: counted %d, %v, want %d", name, total, err, len(want))
		}
	}
}

// pageByPage reads a listing in pages of seven leads, each after the position of the last one
// before it, and returns their numbers.
func pageByPage(t *testing.T, db Store, f store.Filter) (got []int) {
	t.Helper()
	f.Limit = 7
	for {
		page := all(t, db.Leads(t.Context(), f))
		for _, l := range page[:min(f.Limit, len(page))] {
			got = append(got, numberOf(l))
			f.After = &store.Position{Amount: l.Estimate.Min, SubmittedAt: l.SubmittedAt, ID: l.ID}
		}
		if len(page) <= f.Limit {
			return got
		}
	}
}

// numberOf returns the number that a lead was made with.
func numberOf(l lead.Lead) int { return int(l.SubmittedAt.Sub(When()) / time.Second) }
