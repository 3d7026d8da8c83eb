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
			got = append(got, int(l.SubmittedAt.Sub(When())/time.Second))
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
		"ștef@example.com turcanu":  {3},
		"srl casa stef":             {3},
		"NOUA":                      {3},
		"+40 721 000 111":           {3},
		"0040 721/000.111":          {3},
		"(0721) 000-11":             {3},
		"40721000111":               {3},
		"turcanu 0721 000 111":      {3},
		"0721 000":                  {7, 3},
		"721 000 111 222":           nil,
		"@nunez.example":            {7},
		"maria perez":               {7},
		"nunez-p":                   {7},
		"ana-m":                     {50},
		"o'b":                       {50},
		"obrien":                    {50},
		"strauss inan":              {30},
		"ID-000007":                 {7},
		"tefania":                   nil,
		"%":                         nil,
		"ion pop12":                 {12},
		"ion x":                     nil,
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

// Leads, consents and hints of an address are found by any of its spellings.
func otherSpellings(t *testing.T, s Subject) {
	const plain, stored = "ana@example.com", "\"A\\n\u200ba\"@ex\u200bample.com"
	db := s.MustOpen(t, nil)
	n := Lead(1)
	n.Lead.Contact.Email = stored
	n.Lead.Consents = []lead.Consent{{Purpose: "news"}}
	submit(t, db, n)
	hint := Visit("hint", When())
	hint.Hints.Email, hint.Hints.Agreed = "Ana@ex\u00adample.com", true
	mustTrack(t, db, hint)

	for _, email := range []string{plain, stored, "ANA@ｅxample.com."} {
		found := len(all(t, db.Leads(t.Context(), store.Filter{Email: email})))
		consents, sessions, err := db.CountAddress(t.Context(), email)
		if found != 1 || consents != 1 || sessions != 1 || err != nil {
			t.Errorf("of %q there are %d leads, %d consents and %d sessions: %v", email, found, consents, sessions, err)
		}
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
// review and those with unfinished deliveries.
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

	// An operator's decision counts like a delivery.
	for _, id := range []string{"id-000003", "id-000323"} {
		if done, err := db.Reject(t.Context(), id); err != nil || !done {
			t.Fatal(done, err)
		}
	}

	visit := Visit(Lead(4).Lead.SessionID, When())
	mustTrack(t, db, visit)
	for _, want := range []int64{old*8/10 + 1, 0} {
		if got, err := db.PruneLeads(t.Context(), When().Add(old*time.Second)); err != nil || got != want {
			t.Errorf("%d leads were removed, %v, want %d", got, err, want)
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
	wantSession(t, db, forgotten(visit))
}

// forgotten returns a session whose visitor's address was erased.
func forgotten(v lead.Visit) lead.Session {
	v.Hints, v.Attribution = lead.Hints{}, lead.Attribution{}
	return seenOnce(v)
}

// An address is found in the sessions in which it was typed, and erased there together with
// the name. Neither leads nor other sessions are touched.
func hints(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	own := Lead(3)
	own.Lead.Contact.Email = "mine@example.com"
	submit(t, db, own)
	for i := range 5 {
		v := Visit(fmt.Sprint("s", i), When())
		if i%2 == 0 {
			v.Hints.Email = "MINE@example.com"
		}
		mustTrack(t, db, v)
	}
	mustTrack(t, db, lead.Visit{SessionID: "empty", At: When()})

	for _, c := range []struct {
		email string
		want  int64
	}{{"unknown@example.com", 0}, {"ine@example.com", 0}, {"", 0}, {"mine@EXAMPLE.com", 3}, {"mine@EXAMPLE.com", 0}} {
		_, count, err := db.CountAddress(t.Context(), c.email)
		_, erased, err2 := db.EraseAddress(t.Context(), c.email)
		if err != nil || err2 != nil || count != c.want || erased != c.want {
			t.Errorf("%q: %d found, %d erased, %v %v, want %d", c.email, count, erased, err, err2, c.want)
		}
	}
	wantSession(t, db, forgotten(Visit("s0", When())))
	wantSession(t, db, seenOnce(Visit("s1", When())))
	wantCount(t, db, 1)
}

// Nothing is left of a lead that was erased.
func erase(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	first, second := Lead(1), Lead(2)
	visit := Visit(first.Lead.SessionID, When())
	mustTrack(t, db, visit)
	submit(t, db, first)
	submit(t, db, second)

	ok(t, db.Erase(t.Context(), first.Lead.ID))
	if err := db.Erase(t.Context(), first.Lead.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("erasing again gives %v, want ErrNotFound", err)
	}

	wantCount(t, db, 1)
	s.WantWaiting(t, second.Lead.ID)
	if keys := s.Strings(t, `SELECT key FROM idempotency_keys`); !slices.Equal(keys, []string{second.IdempotencyKey}) {
		t.Errorf("the keys left are %q", keys)
	}
	wantSession(t, db, forgotten(visit))
	for _, row := range s.Strings(t, `SELECT state FROM sessions UNION ALL SELECT body FROM leads`) {
		if strings.Contains(row, first.Lead.Contact.Email) || strings.Contains(row, visit.Hints.Email) {
			t.Error("the tables still hold an erased address")
		}
	}
	wantSubmit(t, db, first, first, true) // It is new, since nothing of the first one is left.
}
