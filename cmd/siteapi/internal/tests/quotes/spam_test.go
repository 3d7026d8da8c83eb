package quotes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
)

// vendor starts a stub of the bot check, which accepts the token "good".
func vendor(t *testing.T) (url string, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var in struct{ Secret, Response string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Secret != "hush" {
			t.Errorf("the vendor was sent %+v, %v", in, err)
		}

		if in.Response == "good" {
			_, _ = io.WriteString(w, `{"success":true}`)
			return
		}
		_, _ = io.WriteString(w, `{"success":false,"error-codes":["invalid-input-response"]}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

// wantDelivered checks that the lead is delivered or, if want is false, that it has no
// deliveries after 300 ms.
func wantDelivered(s *apptest.Service, id string, want bool) {
	s.T.Helper()
	there := func() bool {
		return delivered(s, "cms", id) != "" && len(s.Deliveries(id)) == 4 // including the two mails that development writes to files
	}

	if want {
		apptest.Eventually(s.T, "the lead "+id+" is delivered", there)
		return
	}

	time.Sleep(300 * time.Millisecond)
	if there() || len(s.Deliveries(id)) != 0 {
		s.T.Errorf("the lead in review %s was delivered: %v", id, s.Deliveries(id))
	}
}

func TestSuspiciousLeadsAreReviewed(t *testing.T) {
	t.Parallel()
	url, _ := vendor(t)

	for _, tt := range []struct {
		why, env      string
		track         bool   // the session is tracked just before
		change, token string // members of the input, and the token in the header
		want          string // signals, and whether it is in review
	}{
		{"nothing suspicious", "SPAM_MIN_TIME=1ms", true, ``, "", "[] false"},
		{"never tracked", "SPAM_MIN_TIME=1h", false, ``, "", "[untracked] false"},
		{"too fast", "SPAM_MIN_TIME=1h", true, ``, "", "[too_fast] true"},
		{"a good token", "TURNSTILE_SECRET=hush", false, `"challengeToken": "good"`, "", "[] false"},
		{"a good token in the header", "TURNSTILE_SECRET=hush", false, ``, "good", "[] false"},
		{"the vendor is unavailable", "TURNSTILE_SECRET=hush TURNSTILE_API_URL=http://127.0.0.1:1", false,
			`"challengeToken": "good"`, "", "[unchecked] false"},
		{"everything", "SPAM_MIN_TIME=1h TURNSTILE_SECRET=hush", true,
			`"website": "x", "challengeToken": "bad"`, "", "[honeypot too_fast no_challenge] true"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			env := append([]string{apptest.Quick, "TURNSTILE_API_URL=" + url}, strings.Fields(tt.env)...)
			s := apptest.Start(t, env...)

			for _, endpoint := range apptest.Endpoints {
				if tt.track {
					s.TrackThrough(endpoint, object{"sessionId": endpoint})
					time.Sleep(5 * time.Millisecond)
				}
				in := apptest.NewLead(endpoint, `"selections": {"features": ["blog"]}`, tt.change) // a priced choice
				id := s.MustSubmit(endpoint, in, "CF-Turnstile-Response: "+tt.token)
				stored, err := s.App.Data.Store.Lead(t.Context(), id)
				must(t, err)
				if got := fmt.Sprint(stored.Signals, stored.InReview); got != tt.want {
					t.Errorf("stored with %s, want %s", got, tt.want)
				}

				wantDelivered(s, id, !stored.InReview)
				if pdf := s.Do("GET", "/api/quote/pdf?id="+id, ""); pdf.Status != 200 {
					t.Errorf("the visitor's PDF has status %d", pdf.Status)
				}
			}
		})
	}
}

// The response does not reveal whether a lead is in review. A repetition without a value in
// the honeypot field returns the same id and does not release the lead.
func TestRepeatedLeadInReview(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, apptest.Quick)
	other := s.SubmitThrough("REST", apptest.NewLead("other"))
	in := apptest.NewLead("again", `"website": "x"`)
	first := s.SubmitThrough("REST", in)
	id := first.ID()
	if looks := strings.ReplaceAll(first.Raw, id, other.ID()); looks != other.Raw {
		t.Errorf("responses differ:\n%s\n%s", looks, other)
	}

	delete(in, "website")
	if again := s.MustSubmit("GraphQL", in); again != id {
		t.Errorf("the repetition got %v, want %s", again, id)
	}
	wantDelivered(s, id, false)
}
