package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// work gives leads to operators, changes their status and adds notes. Each change is in the
// audit once, and an erasure leaves nothing of it.
func work(t *testing.T, s Subject) {
	db, other := s.MustOpen(t, nil), s.MustOpen(t, nil)
	id := Lead(1).Lead.ID
	wantSubmit(t, db, Lead(1), Lead(1), true)

	// Of sixteen who assign at once, each change is recorded, and no other.
	changes := make(chan bool, 16)
	together(cap(changes), func(i int) {
		owner := fmt.Sprintf("Sales%d@Example.com", i%2)
		changed, err := []Store{db, other}[i%2].Assign(t.Context(), id, owner, entry(i, id))
		if err != nil {
			t.Error(err)
		}
		changes <- changed
	})
	close(changes)
	changed := 0
	for c := range changes {
		if c {
			changed++
		}
	}
	entries, err := db.AuditEntries(t.Context(), store.AuditFilter{Lead: id, Limit: 50})
	if err != nil || changed == 0 || len(entries) != changed {
		t.Errorf("%d changes and %d entries, %v", changed, len(entries), err)
	}

	if ok, err := db.SetStatus(t.Context(), id, lead.StatusWaiting, entry(0, id)); err != nil || !ok {
		t.Error(ok, err)
	}
	if ok, err := db.SetStatus(t.Context(), id, lead.StatusWaiting, entry(0, id)); err != nil || ok {
		t.Errorf("the same status again: %v, %v", ok, err)
	}
	got, err := db.Lead(t.Context(), id)
	if err != nil || got.Status != lead.StatusWaiting || !strings.HasPrefix(got.Owner, "sales") {
		t.Errorf("%+v, %v", got, err)
	}

	named := entry(0, id)
	named.Actor, named.Name = "oidc:7", "ana@example.com"
	notes := []lead.Note{
		{Author: "oidc:7", At: When(), Text: "asked for\nmore \"€\" 😀"},
		{Author: "token", At: When(), Text: "again"},
	}
	for _, n := range notes {
		ok(t, db.AddNote(t.Context(), id, n, named))
	}
	notes[0].Author = named.Name
	if list, err := db.Operators(t.Context()); err != nil || !slices.Equal(list, []string{named.Name}) {
		t.Errorf("the operators: %v, %v", list, err)
	}
	if list, _ := db.AuditEntries(t.Context(), store.AuditFilter{Limit: 1}); list[0].Actor != "oidc:7" || list[0].Name != named.Name {
		t.Errorf("the audit shows %+v", list)
	}
	if got, err := db.Notes(t.Context(), []string{"none", id}); err != nil || !reflect.DeepEqual(got[id], notes) {
		t.Errorf("%+v, %v, want %+v", got, err, notes)
	}

	for range store.MostNotes - len(notes) {
		ok(t, db.AddNote(t.Context(), id, notes[0]))
	}
	if err := db.AddNote(t.Context(), id, notes[0], entry(0, id)); !errors.Is(err, store.ErrTooManyNotes) {
		t.Errorf("one note too many: %v", err)
	}

	ok(t, db.Erase(t.Context(), id))
	if left := s.Strings(t, `SELECT text FROM lead_notes`); len(left) != 0 {
		t.Errorf("%d notes are left of an erased lead", len(left))
	}
	_, assignErr := db.Assign(t.Context(), id, "ana@example.com", entry(0, id))
	_, statusErr := db.SetStatus(t.Context(), id, lead.StatusClosed, entry(0, id))
	for _, err := range []error{assignErr, statusErr, db.AddNote(t.Context(), id, notes[0], entry(0, id))} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an erased lead gives %v, want ErrNotFound", err)
		}
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
		"e-mail":    {store.Filter{Email: "aNA.7@example.COM"}, func(i int) bool { return i == 7 }},
		"unknown":   {store.Filter{Email: "ana@example.com"}, func(int) bool { return false }},
		"reference": {store.Filter{Reference: "ID-00002"}, func(i int) bool { return i/10 == 2 }},
		"ids":       {store.Filter{IDs: []string{"id-000007", "none"}}, func(i int) bool { return i == 7 }},
		"between": {
			store.Filter{Since: When().Add(5 * time.Second), Until: When().Add(50 * time.Second)},
			func(i int) bool { return i >= 5 && i < 50 },
		},
		"owner":     {store.Filter{Owner: &ana}, func(i int) bool { return i%5 == 4 }},
		"no owner":  {store.Filter{Owner: &none}, func(i int) bool { return i%5 != 4 }},
		"status":    {store.Filter{Status: lead.StatusClosed}, func(i int) bool { return i%4 == 3 }},
		"source":    {store.Filter{Source: &ads}, func(i int) bool { return i%3 == 1 }},
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

		for _, newest := range []bool{false, true} {
			for _, byAmount := range []bool{false, true} {
				tt.filter.Newest, tt.filter.ByAmount = newest, byAmount
				slices.SortFunc(want, func(a, b int) int {
					order := a - b
					if byAmount && a%7 != b%7 {
						order = a%7 - b%7
					}
					if newest {
						order = -order
					}
					return order
				})
				if got := pageByPage(t, db, tt.filter); !slices.Equal(got, want) {
					t.Errorf("%s, newest %v, by amount %v: %v, want %v", name, newest, byAmount, got, want)
				}
			}
		}

		counts, err := db.CountWork(t.Context(), tt.filter)
		total := int64(0)
		for _, c := range counts {
			total += c.Number
			if f := tt.filter; f.Status != "" && c.Status != f.Status || len(f.Progress) > 0 && (c.InReview || c.Rejected) {
				t.Errorf("%s counts %+v", name, c)
			}
		}
		if err != nil || total != int64(len(want)) {
			t.Errorf("%s: counted %d, %v, want %d", name, total, err, len(want))
		}
	}
}

// pageByPage reads a listing in pages of seven leads, each after the position of the last one
// before it, and returns their numbers.
func pageByPage(t *testing.T, db Store, f store.Filter) (got []int) {
	t.Helper()
	f.Limit = 7
	for more := true; more; {
		more = false
		n := 0
		for l, err := range db.Leads(t.Context(), f) {
			ok(t, err)
			if more = n == f.Limit; more {
				break
			}
			n++
			got = append(got, int(l.SubmittedAt.Sub(When())/time.Second))
			f.After = &store.Position{Amount: l.Estimate.Min, SubmittedAt: l.SubmittedAt, ID: l.ID}
		}
	}
	return got
}
