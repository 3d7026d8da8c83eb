package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// A search finds the beginnings of words, whatever their case and diacritics. An erased lead
// is not found and leaves no word behind.
func search(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	const n = 60
	people := map[int]lead.Contact{
		3: {
			FirstName: "Ștefania",
			LastName:  "Țurcanu",
			Email:     "stef@example.com",
			Phone:     "+40 (0)721-000.111",
			Company:   "S.C. Casă Verde-Nouă SRL",
		},
		7: {
			FirstName: "José María",
			LastName:  "Núñez-Pérez",
			Email:     "Jose@Núñez.example",
			Phone:     "0721 000 222",
		},
		30: {FirstName: "Strauß", LastName: "İnan", Email: "x@example.com"},
		50: {FirstName: "Stefan", LastName: "O'Brien", Email: "ana-maria@example.com"},
	}
	for i := range n {
		l := Lead(i)
		l.Lead.Contact = lead.Contact{FirstName: "Ion", LastName: fmt.Sprint("Pop", i), Email: fmt.Sprint(i, "@example.com")}
		if c, special := people[i]; special {
			l.Lead.Contact = c
		}
		submit(t, db, l)
	}

	check := func(f store.Filter, want ...int) {
		t.Helper()
		var got []int
		f.Newest = true
		for _, l := range all(t, db.Leads(t.Context(), f)) {
			got = append(got, numberOf(l))
		}
		if f.Limit > 0 {
			got = got[:min(f.Limit, len(got))]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", f, got, want)
		}
	}

	for words, want := range map[string][]int{
		"stef":                      {50, 3},
		"  STEF ȚUR ":               {3},
		"NOUA":                      {3},
		"+40 721 000 111":           {3},
		"turcanu 0721 000 111":      {3},
		"0721 000":                  {7, 3},
		"721 000 111 222":           nil,
		"@nunez.example":            {7},
		"nunez-p":                   {7},
		"obrien":                    {50},
		"strauss inan":              {30},
		"ID-000007":                 {7},
		"%":                         nil,
		"ion pop12":                 {12},
		"a b c d e f g h i j k l m": nil,
	} {
		check(store.Filter{Search: words}, want...)
	}
	check(store.Filter{Search: "i p", Limit: 2}, n-1, n-2)

	ok(t, db.Erase(t.Context(), "id-000003"))
	check(store.Filter{Search: "stef"}, 50)
	if left := s.Strings(t, `SELECT term FROM search_terms WHERE lead_id = 'id-000003'`); len(left) != 0 {
		t.Errorf("an erased lead leaves %v behind", left)
	}
}

// Sessions that were not seen lately are removed, whatever their number.
func pruneSessions(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	const n = 1200
	together(n, func(i int) {
		ok(t, db.Track(t.Context(), Visit(fmt.Sprint("s", i), When().Add(time.Duration(i%3/2)*time.Hour))))
	})
	for _, want := range []int64{n * 2 / 3, 0} {
		if got, err := db.PruneSessions(t.Context(), When().Add(time.Hour)); err != nil || got != want {
			t.Errorf("%d sessions were removed, %v, want %d", got, err, want)
		}
	}
	wantSession(t, db, seenOnce(Visit("s2", When().Add(time.Hour))))
}

// Leads that are old enough are erased with everything that belongs to them, but for those in
// review and those with unfinished deliveries. An operator's decision counts like a delivery.
func pruneLeads(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	const n, old = 330, 250
	together(n, func(i int) {
		l := Lead(i)
		l.Lead.InReview = i%10 == 3
		submit(t, db, l)
		if i%10 != 7 && !l.Lead.InReview {
			end(t, db, l.Lead.ID, lead.Delivered)
		}
	})
	_, err := db.Reject(t.Context(), "id-000003")
	ok(t, err)

	visit := Visit(Lead(4).Lead.SessionID, When())
	mustTrack(t, db, visit)
	for _, want := range []int64{old*8/10 + 1, 0} {
		if got, err := db.PruneLeads(t.Context(), When().Add(old*time.Second)); err != nil || got != want {
			t.Errorf("%d leads were removed, %v, want %d", got, err, want)
		}
	}
	wantCount(t, db, n-old*8/10-1)
	if left := s.Strings(t, `SELECT lead_id FROM deliveries`); len(left) != n*9/10-old*8/10 {
		t.Errorf("%d deliveries are left", len(left))
	}
	wantSession(t, db, forgotten(visit))
}

// forgotten returns a session whose visitor's address was erased.
func forgotten(v lead.Visit) lead.Session {
	v.Hints, v.Attribution = lead.Hints{}, lead.Attribution{}
	return seenOnce(v)
}

// Leads, consents and hints of an address are found by any of its spellings. The hints are
// erased together with the name, neither leads nor other sessions are touched.
func hints(t *testing.T, s Subject) {
	const plain, stored = "ana@example.com", "\"A\\n\u200ba\"@ex\u200bample.com"
	db := s.MustOpen(t, nil)
	n := Lead(1)
	n.Lead.Contact.Email = stored
	n.Lead.Consents = []lead.Consent{{Purpose: "news"}}
	submit(t, db, n)
	for _, email := range []string{"Ana@ex\u00adample.com", "ana@example.org", ""} {
		v := Visit(email, When())
		v.Hints.Email = email
		mustTrack(t, db, v)
	}

	for _, c := range []struct {
		email          string
		consents, want int64
	}{{stored, 1, 1}, {"unknown@example.com", 0, 0}, {"", 0, 0}, {"ANA@ｅxample.com.", 1, 1}, {plain, 0, 0}} {
		consents, sessions, err := db.CountAddress(t.Context(), c.email)
		if err != nil || consents != c.consents || sessions != c.want {
			t.Errorf("%q: %d consents, %d sessions, %v", c.email, consents, sessions, err)
		}
		if c.email == stored {
			continue
		}
		consents, sessions, err = db.EraseAddress(t.Context(), c.email)
		if err != nil || consents != c.consents || sessions != c.want {
			t.Errorf("%q: %d consents, %d sessions erased, %v", c.email, consents, sessions, err)
		}
	}
	if found := all(t, db.Leads(t.Context(), store.Filter{Email: plain})); len(found) != 1 {
		t.Errorf("there are %d leads", len(found))
	}
	wantSession(t, db, forgotten(Visit("Ana@ex\u00adample.com", When())))
	if other, err := db.Session(t.Context(), "ana@example.org"); err != nil || other.Hints.FirstName == "" {
		t.Errorf("another address: %+v, %v", other, err)
	}
}

// Nothing is left of a lead that was erased.
func erase(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	first, second := Lead(1), Lead(2)
	visit := Visit(first.Lead.SessionID, When())
	mustTrack(t, db, visit)
	submit(t, db, first)
	submit(t, db, second)

	for _, want := range []error{nil, store.ErrNotFound} {
		if err := db.Erase(t.Context(), first.Lead.ID); !errors.Is(err, want) {
			t.Errorf("erasing gives %v, want %v", err, want)
		}
	}
	s.WantWaiting(t, second.Lead.ID)
	if keys := s.Strings(t, `SELECT key FROM idempotency_keys`); !slices.Equal(keys, []string{second.IdempotencyKey}) {
		t.Errorf("the keys left are %q", keys)
	}
	wantSession(t, db, forgotten(visit))
	wantSubmit(t, db, first, first, true) // It is new, since nothing of the first one is left.
}
