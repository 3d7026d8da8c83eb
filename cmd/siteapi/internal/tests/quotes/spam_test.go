package quotes

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
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

	tests := []struct {
		name     string
		env      []string
		track    bool // the session is tracked just before
		change   object
		headers  []string
		want     []lead.Signal
		inReview bool
	}{
		{name: "nothing suspicious", env: []string{"SPAM_MIN_TIME=1ms"}, track: true},
		{
			name: "never tracked",
			env:  []string{"SPAM_MIN_TIME=1h"},
			want: []lead.Signal{lead.Untracked},
		},
		{
			name:     "too fast",
			env:      []string{"SPAM_MIN_TIME=1h"},
			track:    true,
			want:     []lead.Signal{lead.TooFast},
			inReview: true,
		},
		{
			name:   "a good token",
			env:    []string{"TURNSTILE_SECRET=hush"},
			change: object{"challengeToken": "good"},
		},
		{
			name:    "a good token in the header",
			env:     []string{"TURNSTILE_SECRET=hush"},
			headers: []string{"CF-Turnstile-Response: good"},
		},
		{
			name:   "the vendor is unavailable",
			env:    []string{"TURNSTILE_SECRET=hush", "TURNSTILE_API_URL=http://127.0.0.1:1"},
			change: object{"challengeToken": "good"},
			want:   []lead.Signal{lead.Unchecked},
		},
		{
			name:     "everything",
			env:      []string{"SPAM_MIN_TIME=1h", "TURNSTILE_SECRET=hush"},
			track:    true,
			change:   object{"website": "x", "challengeToken": "bad"},
			want:     []lead.Signal{lead.Honeypot, lead.TooFast, lead.NoChallenge},
			inReview: true,
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := apptest.Start(t, append([]string{apptest.Quick, "TURNSTILE_API_URL=" + url}, tt.env...)...)

			apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
				session := "spam-" + endpoint
				if tt.track {
					s.TrackThrough(endpoint, object{"sessionId": session})
					time.Sleep(5 * time.Millisecond)
				}

				in := apptest.ValidLead(session)
				in["selections"].(object)["features"] = []any{"blog"} // a priced choice
				maps.Copy(in, tt.change)
				got := s.SubmitThrough(endpoint, in, tt.headers...)
				if got.Data["success"] != true {
					t.Fatalf("the response is %s", got)
				}

				id := got.ID()
				stored, err := s.App.Data.Store.Lead(t.Context(), id)
				must(t, err)

				if !reflect.DeepEqual(stored.Signals, tt.want) || stored.InReview != tt.inReview {
					t.Errorf("stored with %v, in review %v; want %v, %v",
						stored.Signals, stored.InReview, tt.want, tt.inReview)
				}

				wantDelivered(s, id, !tt.inReview)
				if pdf := s.Do("GET", "/api/quote/pdf?id="+id, ""); pdf.Status != 200 {
					t.Errorf("the visitor's PDF has status %d", pdf.Status)
				}
			})
		})
	}
}

// The response does not reveal whether a lead is in review. A repetition without a value in
// the honeypot field returns the same id and does not release the lead.
func TestRepeatedLeadInReview(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, apptest.Quick)
	other := s.SubmitThrough("REST", apptest.ValidLead("other"))
	in := apptest.ValidLead("again")
	in["website"] = "x"
	first := s.SubmitThrough("REST", in)
	id := first.ID()
	if looks := strings.ReplaceAll(first.Raw, id, other.ID()); looks != other.Raw {
		t.Errorf("responses differ:\n%s\n%s", looks, other)
	}

	delete(in, "website")
	if again := s.SubmitThrough("GraphQL", in).Data["submissionId"]; again != id {
		t.Errorf("the repetition got %v, want %s", again, id)
	}
	wantDelivered(s, id, false)
}
