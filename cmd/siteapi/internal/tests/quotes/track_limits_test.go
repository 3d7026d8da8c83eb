package quotes

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/lead"
	"siteapi/integrations/store/sqlite"
)

// sessionRows returns the number of stored sessions, and the size of the largest in
// bytes.
func sessionRows(s *apptest.Service) (rows, largest int) {
	s.T.Helper()
	db, err := sqlite.OpenDB(s.T.Context(), filepath.Join(s.DataDir, systems.DatabaseFile))
	must(s.T, err)
	defer db.Close()

	sizes := []string{"8 * 4"} // the columns with numbers
	for _, column := range []string{
		"id", "selections", "estimate", "locale", "hints", "mailbox", "first_touch", "first_source", "first_campaign",
		"last_touch", "last_source", "last_campaign",
	} {
		sizes = append(sizes, "length(CAST("+column+" AS BLOB))")
	}
	err = db.QueryRowContext(s.T.Context(), "SELECT count(*), max("+strings.Join(sizes, " + ")+") FROM sessions").
		Scan(&rows, &largest)
	must(s.T, err)
	return rows, largest
}

// A session takes at most 4 KB, whatever is tracked. The address, the consent to store it
// and the project type are never cut.
func TestSizeOfASession(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)

	features := make([]any, 50)
	for i := range features {
		features[i] = fmt.Sprintf("%062d%02d", 0, i)
	}
	long := strings.Repeat("<", 200)
	from := object{
		"source": strings.Repeat("s", 200), "medium": long, "campaign": long, "term": long, "content": long,
		"referrer": "https://a.example/" + long, "landingPage": "https://b.example/" + long,
	}
	person := object{
		"email":     strings.Repeat("a", 60) + "@" + strings.Repeat(strings.Repeat("b", 60)+".", 3) + "example",
		"firstName": strings.Repeat("ș", 100),
	}
	consents := []any{object{"purpose": "save_progress", "given": true, "text": strings.Repeat("<😀", 500)}}

	id := strings.Repeat("x", 128)
	for _, input := range []object{
		{"sessionId": id, "attribution": from},
		{
			"sessionId": id, "attribution": from, "consents": consents, "formData": person,
			"selections": object{
				"projectType": strings.Repeat("p", 64),
				"features":    features,
				"complexity":  strings.Repeat("c", 64),
				"timeline":    strings.Repeat("t", 64),
			},
			"estimate": object{"min": 123456789.123, "max": 123456789.123, "currency": "EUR"},
		},
	} {
		if got := s.TrackThrough("REST", input); got.Status != 200 {
			t.Fatal(got)
		}
	}

	if rows, largest := sessionRows(s); rows != 1 || largest > 4096 {
		t.Errorf("%d sessions, the largest has %d bytes", rows, largest)
	}
	if n := apptest.Counter(t, s, "siteapi_events_total", map[string]string{"event": "track", "detail": "cut"}); n != 2 {
		t.Errorf("%v truncated states were counted, want 2", n)
	}

	if stored := session(s, id); stored.Hints.Email != person["email"] || !stored.Hints.Agreed ||
		stored.Selections.ProjectType != strings.Repeat("p", 64) || stored.FirstTouch.Source == "" {
		t.Errorf("the session is %+v", stored)
	}
}

// After 200 new sessions per hour from one network, requests are still answered, but new
// sessions are not stored. Known sessions are still updated.
func TestNewSessionsOfANetwork(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "RATE_LIMITS=on")
	track := func(id string) {
		t.Helper()
		for {
			got := s.TrackThrough("REST", object{"sessionId": id})
			if got.Status == 200 && got.Data["sessionId"] == id {
				return
			}
			if got.Status != 429 {
				t.Fatal(got)
			}
			time.Sleep(200 * time.Millisecond)
		}
	}

	hour := time.Now().Hour()
	for i := range 210 {
		track(fmt.Sprintf("new-%d", i))
	}
	track("new-0")

	rows, _ := sessionRows(s)
	if again := time.Now().Hour() != hour; rows != 200 && !again {
		t.Errorf("%d sessions are stored", rows)
	}
	if visits := session(s, "new-0").Visits; visits != 2 {
		t.Errorf("the first session has %d visits", visits)
	}
}

// After 60 leads per hour from one /48, further leads go into review, even if each comes
// from another /56. A double click, or a retry after a lost response, is not counted.
// Requests from the /64s of one /56 share a rate limit.
func TestBurst(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "RATE_LIMITS=on", "TRUSTED_PROXIES=127.0.0.1", "SPAM_MIN_TIME=0")
	submit := func(session string, i int) lead.Lead {
		from := fmt.Sprintf("X-Forwarded-For: 2001:db8:0:%x::1", i<<8)
		got := s.SubmitThrough("REST", apptest.NewLead(session), from)
		l, err := s.App.Data.Store.Lead(t.Context(), got.ID())
		if err != nil {
			t.Fatal(got)
		}
		return l
	}

	first, hour := submit("first", 0), time.Now().Hour()
	for i := range 80 { // with the other leads fewer than the 160 that a /48 may send at once
		if again := submit("first", i); again.ID != first.ID || again.InReview {
			t.Fatalf("the repetition %d is another lead, or in review: %+v", i, again)
		}
	}
	for i := range 69 {
		if l := submit(fmt.Sprint("other-", i), i); l.InReview != (i >= 59) && time.Now().Hour() == hour {
			t.Fatalf("the lead %d is in review: %v", i+2, l.InReview)
		}
	}

	limited := 0
	for i := range 60 {
		from := fmt.Sprintf("X-Forwarded-For: 2001:db8:1:%x::1", i)
		if got := s.SubmitThrough("REST", object{}, from); got.Status == 429 {
			limited++
		}
	}
	if limited == 0 {
		t.Error("a /56 has no rate limit")
	}
}
