package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

func listLeads(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	const n = 1100 // more than two pages
	together(n, func(i int) {
		sub := Lead(i)
		sub.Lead.SubmittedAt = When().Add(time.Duration(i/10) * time.Second) // Ten share a time.
		if _, _, err := db.Submit(t.Context(), sub); err != nil {
			t.Error(err)
		}
	})

	for name, c := range map[string]struct {
		filter     store.Filter
		from, till int
	}{
		"all":       {from: 0, till: n},
		"e-mail":    {filter: store.Filter{Email: "aNA.77@example.COM"}, from: 77, till: 78},
		"unknown":   {filter: store.Filter{Email: "ana@example.com"}},
		"reference": {filter: store.Filter{Reference: "ID-00007"}, from: 70, till: 80},
		"since":     {filter: store.Filter{Since: When().Add(100 * time.Second)}, from: 1000, till: n},
		"until":     {filter: store.Filter{Until: When().Add(2 * time.Second)}, from: 0, till: 20},
		"between": {
			filter: store.Filter{Since: When().Add(time.Second), Until: When().Add(90 * time.Second)},
			from:   10,
			till:   900,
		},
	} {
		for _, newest := range []bool{false, true} {
			c.filter.Newest = newest

			var got, want []string
			for _, sub := range all(t, db.Leads(t.Context(), c.filter)) {
				got = append(got, sub.ID)
			}
			for i := c.from; i < c.till; i++ {
				want = append(want, fmt.Sprintf("id-%06d", i))
			}

			if newest {
				slices.Reverse(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, newest first %v: %d submissions that are not the %d wanted ones",
					name, newest, len(got), len(want))
			}
		}
	}
}

// A search finds the beginnings of words, whatever their case and diacritics, also in
// leads that a copy stored. An erased lead is not found and leaves no word behind.
func search(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	const n = 3500 // more than the window that is searched row by row
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
		n - 2:    {FirstName: "Stefan", LastName: "O'Brien", Email: "ana-maria@example.com"},
		n - 1000: {FirstName: "Strauß", LastName: "İnan", Email: "x@example.com"},
	}

	together(n, func(i int) {
		sub := Lead(i)
		sub.Lead.SubmittedAt = When().Add(time.Duration(i) * time.Second)
		sub.Lead.Locale = []string{"en", "ro", ""}[min(i%50, 2)]
		sub.Lead.Contact = people[i]
		if sub.Lead.Contact.Email == "" {
			sub.Lead.Contact = lead.Contact{
				FirstName: "Ion",
				LastName:  fmt.Sprint("Pop", i),
				Email:     fmt.Sprint(i, "@example.com"),
			}
		}

		if _, _, err := db.Submit(t.Context(), sub); err != nil {
			t.Error(err)
		}
	})

	check := func(f store.Filter, want ...int) {
		t.Helper()
		var got []int

		f.Newest = true
		for _, sub := range all(t, db.Leads(t.Context(), f)) {
			got = append(got, int(sub.SubmittedAt.Sub(When())/time.Second))
		}

		if f.Limit > 0 {
			got = got[:min(f.Limit, len(got))]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", f, got, want)
		}
	}

	check(store.Filter{Search: "stef"}, n-2, 3)
	check(store.Filter{Search: "  STEF ȚUR "}, 3)
	check(store.Filter{Search: "ștef@example.com turcanu"}, 3)
	for _, words := range []string{
		"casa verde", "NOUA", "srl casa stef",
		"+40721000111", "+40 721 000 111", "0040 721/000.111", "0721 000 1", "(0721) 000-11",
		"40721000111", "turcanu 0721 000 111",
	} {
		check(store.Filter{Search: words}, 3)
	}
	for _, words := range []string{"nuñez.exam", "@nunez.example", "0721 000 22", "+40 721 000 222"} {
		check(store.Filter{Search: words}, 7)
	}
	check(store.Filter{Search: "0721 000"}, 7, 3)
	check(store.Filter{Search: "721 000 111 222"})
	check(store.Filter{Search: "maria perez"}, 7)
	check(store.Filter{Search: "nunez-p"}, 7)
	check(store.Filter{Search: "ana-m"}, n-2)
	check(store.Filter{Search: "o'b"}, n-2)
	check(store.Filter{Search: "obrien"}, n-2)
	check(store.Filter{Search: "strauss inan"}, n-1000)
	check(store.Filter{Search: "ID-000007"}, 7)
	check(store.Filter{Search: "tefania"})
	check(store.Filter{Search: "%"})
	check(store.Filter{Search: "=en"})
	check(store.Filter{Search: "ion pop", Limit: 2}, n-1, n-3)

	fifth := &store.Position{SubmittedAt: When().Add(5 * time.Second), ID: "id-000005"}
	check(store.Filter{Search: "ion pop", Limit: 2, After: fifth}, 4, 2)
	check(store.Filter{Search: "ion", Until: When().Add(3 * time.Second)}, 2, 1, 0)
	check(store.Filter{Locale: "ro", Limit: 1}, n-49)
	check(store.Filter{Locale: "en", Search: "pop15"}, 1550, 1500, 150)
	check(store.Filter{IDs: []string{"id-000007", "id-000003", "none"}}, 7, 3)

	if err := db.Erase(t.Context(), "id-000003"); err != nil {
		t.Fatal(err)
	}
	check(store.Filter{Search: "stef"}, n-2)
	if left := s.Strings(t,
		`SELECT term FROM search_terms WHERE lead_id = 'id-000003'`); len(left) != 0 {
		t.Errorf("an erased submission leaves %v behind", left)
	}
}

// otherSpellings checks that leads, consents and hints of an address are found by any of its
// spellings.
func otherSpellings(t *testing.T, s Subject) {
	const plain, stored = "ana@example.com", "\"A\\n\u200ba\"@ex\u200bample.com"
	db := s.MustOpen(t, nil)
	n := Lead(1)
	n.Lead.Contact.Email = stored
	n.Lead.Consents = []lead.Consent{{Purpose: "news"}}
	wantSubmit(t, db, n, n, true)
	hint := Visit("hint", When())
	hint.Hints.Email, hint.Hints.Agreed = "Ana@ex\u00adample.com", true
	mustTrack(t, db, hint)

	for _, email := range []string{plain, stored, "ANA@ｅxample.com."} {
		var found int64
		for _, err := range db.Leads(t.Context(), store.Filter{Email: email}) {
			if found++; err != nil {
				t.Fatal(err)
			}
		}
		consents, err := db.CountConsents(t.Context(), email)
		hints, err2 := db.CountHints(t.Context(), email)
		if found != 1 || consents != 1 || hints != 1 || err != nil || err2 != nil {
			t.Errorf("of %q there are %d leads, %d consents and %d hints: %v %v",
				email, found, consents, hints, err, err2)
		}
	}
}

func sessions(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	const n = 1200 // more than two pages
	together(n, func(i int) {
		if err := db.Track(t.Context(),
			Visit(fmt.Sprint("s", i), When().Add(time.Duration(i%3/2)*time.Hour))); err != nil {
			t.Error(err)
		}
	})

	count := func(want int) {
		t.Helper()
		seen := map[string]bool{}
		for _, got := range all(t, db.Sessions(t.Context())) {
			seen[got.ID] = got.Visits == 1 && got.Hints.Email == "ana@example.com" &&
				*got.Estimate.Max == 2000
		}
		if len(seen) != want || !seen["s2"] {
			t.Errorf("%d sessions, want %d", len(seen), want)
		}
	}

	count(n)
	for _, want := range []int64{n * 2 / 3, 0} {
		if got, err := db.PruneSessions(t.Context(), When().Add(time.Hour)); err != nil || got != want {
			t.Errorf("%d sessions were removed, %v, want %d", got, err, want)
		}
	}
	count(n / 3)
}

// Only leads that are old enough are erased, with everything that belongs to them.
// Those in review or with unfinished deliveries stay.
func pruneLeads(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	const n, old = 1300, 1100 // more than two pages of old ones

	together(n, func(i int) {
		sub := Lead(i)
		sub.Lead.InReview = i%10 == 3
		sub.Lead.SubmittedAt = When().Add(time.Duration(i/10) * time.Minute) // Ten share a time.
		if _, _, err := db.Submit(t.Context(), sub); err != nil {
			t.Error(err)
		}
		if i%10 != 7 && !sub.Lead.InReview {
			end(t, db, sub.Lead.ID, lead.Delivered)
		}
	})

	// An operator's decision counts like a delivery.
	for _, id := range []string{"id-000003", fmt.Sprintf("id-%06d", old+3)} {
		if ok, err := db.Reject(t.Context(), id); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}

	visit := Visit(Lead(4).Lead.SessionID, When())
	mustTrack(t, db, visit)

	before := When().Add(old / 10 * time.Minute)
	for _, want := range []int64{old*8/10 + 1, 0} {
		if got, err := db.PruneLeads(t.Context(), before); err != nil || got != want {
			t.Errorf("%d submissions were removed, %v, want %d", got, err, want)
		}
	}
	wantCount(t, db, n-old*8/10-1)

	for query, want := range map[string]int{
		`SELECT lead_id FROM deliveries`:   n*9/10 - old*8/10,
		`SELECT key FROM idempotency_keys`: n - old*8/10 - 1,
	} {
		if left := s.Strings(t, query); len(left) != want {
			t.Errorf("%s gives %d rows, want %d", query, len(left), want)
		}
	}

	visit.Hints, visit.Attribution = lead.Hints{}, lead.Attribution{}
	wantSession(t, db, seenOnce(visit))
}

// An e-mail address is found in the sessions in which it was typed, whatever the letter
// case, and erased there together with the name. Leads are not touched.
func hints(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	own := Lead(3)
	own.Lead.Contact.Email = "mine@example.com"
	wantSubmit(t, db, own, own, true)

	const n = 1300
	together(n, func(i int) {
		v := Visit(fmt.Sprint("s", i), When())
		if i%2 == 0 {
			v.Hints.Email = "MINE@example.com"
		}
		if err := db.Track(t.Context(), v); err != nil {
			t.Error(err)
		}
	})
	mustTrack(t, db, lead.Visit{SessionID: "empty", At: When()})

	for _, email := range []string{"unknown@example.com", "ine@example.com", ""} {
		count, err := db.CountHints(t.Context(), email)
		erased, err2 := db.EraseHints(t.Context(), email)
		if err != nil || err2 != nil || count != 0 || erased != 0 {
			t.Errorf("%q: %d found, %d erased, %v %v, want nothing", email, count, erased, err, err2)
		}
	}

	for _, want := range []int64{n / 2, 0} {
		count, err := db.CountHints(t.Context(), "mine@EXAMPLE.com")
		erased, err2 := db.EraseHints(t.Context(), "mine@EXAMPLE.com")
		if err != nil || err2 != nil || count != want || erased != want {
			t.Errorf("%d found, %d erased, %v %v, want %d", count, erased, err, err2, want)
		}
	}

	hinted, theirs := Visit("s0", When()), Visit("s1", When())
	hinted.Hints, hinted.Attribution = lead.Hints{}, lead.Attribution{}
	wantSession(t, db, seenOnce(hinted))
	wantSession(t, db, seenOnce(theirs))
	wantCount(t, db, 1)
}

// Erasing hints while the visitor continues loses none of the visitor's choices.
func hintsWhileTracked(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	const visits = 200
	together(2, func(client int) {
		for i := range visits {
			v := Visit("busy", When().Add(time.Duration(i)*time.Millisecond))
			v.Selections.Timeline = fmt.Sprint("step-", i)

			err := error(nil)
			if client == 0 {
				err = db.Track(t.Context(), v)
			} else {
				_, err = db.EraseHints(t.Context(), v.Hints.Email)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})

	got, err := db.Session(t.Context(), "busy")
	if err != nil || got.Visits != visits || got.Selections.Timeline != fmt.Sprint("step-", visits-1) {
		t.Errorf("the session is %+v, %v", got, err)
	}
}

func erase(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	first, second := Lead(1), Lead(2)
	visit := Visit(first.Lead.SessionID, When())
	mustTrack(t, db, visit)
	wantSubmit(t, db, first, first, true)
	wantSubmit(t, db, second, second, true)

	if err := db.Erase(t.Context(), first.Lead.ID); err != nil {
		t.Fatal(err)
	}
	if err := db.Erase(t.Context(), first.Lead.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("erasing again gives %v, want ErrNotFound", err)
	}

	wantCount(t, db, 1)
	s.WantWaiting(t, second.Lead.ID)
	if keys := s.Strings(t,
		`SELECT key FROM idempotency_keys`); !slices.Equal(keys, []string{second.IdempotencyKey}) {
		t.Errorf("the keys left are %q", keys)
	}

	typed := visit.Hints.Email
	visit.Hints, visit.Attribution = lead.Hints{}, lead.Attribution{}
	wantSession(t, db, seenOnce(visit))
	for _, row := range s.Strings(t, `SELECT state FROM sessions UNION ALL SELECT body FROM leads`) {
		if strings.Contains(row, first.Lead.Contact.Email) || strings.Contains(row, typed) {
			t.Error("the tables still hold an erased address")
		}
	}

	wantSubmit(t, db, first, first, true) // It is new, since nothing of the first one is left.
}
