package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// A search matches the prefixes of words, ignoring case and diacritics. An erased lead is
// not found and leaves no terms behind.
func search(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
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
		21: {
			FirstName: "Gʻulom",
			LastName:  "D´Angelo",
			Email:     "gulom@example.com",
			Phone:     "+44 (0)20 7946 0018 ext. 45",
			Company:   "Donau\u00adschiff",
		},
		22: {FirstName: "Νίκος", LastName: "Yıldız", Email: "n@example.com", Phone: "٠٧٢١ ٠٠٠ ٣٣٣", Company: "ΝΙΚΟΣ"},
		23: {FirstName: "علی\u200cرضا", LastName: "İpek", Email: "a@example.com"},
		24: {FirstName: "Sean", LastName: "O＇Hara", Email: "sean@example.com", Phone: "0723 000 444 / 0724 000 555"},
		25: {FirstName: "Dan", LastName: "Pop", Email: "_dan_@example.com", Company: `"Dacia" SRL`},
		26: {FirstName: "Eva", LastName: "Pop", Email: "eva@example.com", Company: "(Nucet) SA"},
		27: {FirstName: "Luz", LastName: "Pop", Email: "luz@example.com", Company: "«Órbita» & Hijos"},
		50: {FirstName: "Strauß", LastName: "O'Brien", Email: "stef@example.org"},
	}
	for i := range 60 {
		l := Lead(i)
		l.Lead.Contact = lead.Contact{FirstName: "Ion", LastName: fmt.Sprint("Pop", i), Email: fmt.Sprint(i, "@example.com")}
		if c, special := people[i]; special {
			l.Lead.Contact = c
		}
		if i == 27 {
			l.Lead.Message = "Budget 8.000 € until 1/2/2027 – all things? Urgent, (call-back) <eva@nucet.example>. C++!"
		}
		submit(t, db, l)
	}

	check := func(words string, want ...int) {
		t.Helper()
		var got []int
		for _, l := range all(t, db.Leads(t.Context(), store.Filter{Search: words, Newest: true})) {
			got = append(got, numberOf(l))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", words, got, want)
		}
	}

	for words, want := range map[string][]int{
		"stef":                      {50, 3},
		"  STEF ȚUR ":               {3},
		"NOUA":                      {3},
		"+40 721 000 111":           {3},
		"turcanu 0721 000 111":      {3},
		"0721 000":                  {22, 7, 3},
		"721 000 111 222":           nil,
		"@nunez.example":            {7},
		"nunez-p":                   {7},
		"obrien strauss":            {50},
		"ID-000007":                 {7},
		"%":                         nil,
		"ion pop12":                 {12},
		"a b c d e f g h i j k l m": nil,

		// Apostrophes of keyboards, of Uzbek and of programs that "improve" them.
		"gulom":    {21},
		"G'ulom":   {21},
		"g‘ulom":   {21},
		"gʼulom":   {21},
		"dangelo":  {21},
		"D’Angelo": {21},
		"d´angelo": {21},

		// Letters with another form at the end, in capitals or without a dot, and invisible ones.
		"donauschiff":       {21},
		"donau\u00adschiff": {21},
		"yildiz":            {22},
		"YILDIZ":            {22},
		"yıldız":            {22},
		"νικος":             {22},
		"ΝΊΚΟΣ":             {22},
		"νικοσ":             {22},
		"ipek":              {23},
		"علیرضا":            {23},

		// The end of a number, as a telephone shows it, and numbers with an extension.
		"0018":             {21},
		"7946 0018":        {21},
		"46-00-18":         {21},
		"020 7946 0018":    {21},
		"+44 20 7946 0018": {21},
		"+44 20 7946 0019": nil,
		"00 0111":          {3},
		"000333":           {22},
		"٠٧٢١ ٠٠٠ ٣٣٣":     {22}, // as it was typed
		"٣٣٣٣":             nil,
		"٠٣٣٣":             {22},
		"0723 000 444":     {24},
		"0724000555":       {24}, // the second of two numbers
		"o'hara":           {24}, // from a keyboard for Japanese
		"1800":             nil,  // not backward

		// Punctuation around words, where they are stored and where they are asked for.
		"dacia":              {25},
		`"Dacia" SRL`:        {25},
		"„Dacia”":            {25},
		"_dan_@example.com":  {25},
		"<dan_@example.com>": {25},
		"Nucet":              {27, 26}, // its domain in the message of 27
		"(Nucet) SA":         {26},
		"orbita":             {27},
		"¡Órbita!":           {27},
		"Órbita & Hijos":     {27},
		"orbita hijos":       {27},
		"8.000":              {27},
		"€8.000":             {27},
		"1/2/2027":           {27},
		"2027":               {27},
		"things?":            {27},
		"urgent,":            {27},
		"back":               {27},
		"call-back":          {27},
		"eva@nucet.example":  {27},
		"?!":                 nil,
	} {
		check(words, want...)
	}
	list, err := db.CountWork(t.Context(), store.Filter{Search: "i p"})
	first := all(t, db.Leads(t.Context(), store.Filter{Search: "i p", Newest: true, Limit: 2}))
	if err != nil || Total(list) != len(first) || numberOf(first[0]) != 59 {
		t.Errorf("single letters: %d leads counted, %v, and %d listed, of which the first is %d", Total(list), err, len(first), numberOf(first[0]))
	}

	ok(t, db.Erase(t.Context(), "id-000003"))
	check("stef", 50)
	if terms := s.Strings(t, `SELECT term FROM search_terms WHERE lead_id = 'id-000003'`); len(terms) != 0 {
		t.Errorf("an erased lead leaves the terms %v behind", terms)
	}
}

// Sessions last seen before a time are removed, even if they are more than fit into one
// transaction.
func pruneSessions(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	const n = 1200
	concurrently(n, func(i int) {
		ok(t, db.Track(t.Context(), Visit(fmt.Sprint("s", i), When().Add(time.Duration(i%3/2)*time.Hour))))
	})
	for _, want := range []int64{n * 2 / 3, 0} {
		if got, err := db.PruneSessions(t.Context(), When().Add(time.Hour)); err != nil || got != want {
			t.Errorf("%d sessions were removed, %v, want %d", got, err, want)
		}
	}
	wantSession(t, db, seenOnce(Visit("s2", When().Add(time.Hour))))
}

// Old leads are erased with everything that belongs to them, except for leads in review
// and those with unfinished deliveries. A rejected lead counts as finished.
func pruneLeads(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	const n, old = 330, 250
	concurrently(n, func(i int) {
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
	for query, want := range map[string]int{
		`SELECT lead_id FROM deliveries`:   n*9/10 - old*8/10,
		`SELECT key FROM idempotency_keys`: n - old*8/10 - 1,
	} {
		if rows := s.Strings(t, query); len(rows) != want {
			t.Errorf("%s returned %d rows, want %d", query, len(rows), want)
		}
	}
	wantSession(t, db, erased(visit))

	// A declined request keeps a lead for the same time, in which its visitor reads the reason.
	kept, declined := Lead(n-1).Lead, When().AddDate(0, 0, 1)
	_, err = db.RequestDeletion(t.Context(), kept.ID, When())
	ok(t, err)
	_, err = db.DeclineDeletion(t.Context(), &kept, "Needed", declined)
	ok(t, err)
	for age, want := range []int64{(n-old)*8/10 - 1, 1} {
		before := declined.Add(time.Duration(age) * time.Second)
		if got, err := db.PruneLeads(t.Context(), before); err != nil || got != want {
			t.Errorf("%d leads were removed %d seconds after the refusal, %v, want %d", got, age, err, want)
		}
	}
}

// erased returns the session that remains after its visitor's address was erased.
func erased(v lead.Visit) lead.Session {
	v.Hints, v.Attribution = lead.Hints{}, lead.Attribution{}
	return seenOnce(v)
}

// The leads, consents and hints of an address are found by any of its spellings. The
// hints are erased together with the name; leads and other sessions are not touched.
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
		consents, sessions, err := db.CountPerson(t.Context(), c.email, nil)
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
	wantSession(t, db, erased(Visit("Ana@ex\u00adample.com", When())))
	if other, err := db.Session(t.Context(), "ana@example.org"); err != nil || other.Hints.FirstName == "" {
		t.Errorf("another address: %+v, %v", other, err)
	}
}
