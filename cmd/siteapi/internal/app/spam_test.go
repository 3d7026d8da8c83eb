package app

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/lead"
)

// vendor starts a stub of the bot check, which accepts the token "good".
func vendor(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
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
	return s.URL, asked
}

// arrives fails unless a lead gets to both targets, or to neither within a moment.
func (s *service) arrives(id string, want bool) {
	s.t.Helper()
	there := func() bool {
		_, err := os.Stat(filepath.Join(s.dataDir, "cms", "quoteSubmission."+id+".json"))
		return err == nil && len(s.deliveries(id)) == 4 // with the mails of development
	}

	if want {
		eventually(s.t, "the lead "+id+" is delivered", there)
		return
	}

	time.Sleep(300 * time.Millisecond)
	if there() || len(s.deliveries(id)) != 0 {
		s.t.Errorf("the lead in review %s was delivered: %v", id, s.deliveries(id))
	}
}

func TestSuspiciousLeadsAreReviewed(t *testing.T) {
	t.Parallel()
	url, _ := vendor(t)

	tests := []struct {
		name     string
		env      map[string]string
		track    bool // the session is tracked just before
		change   object
		headers  []string
		want     []lead.Signal
		inReview bool
	}{
		{name: "nothing odd", env: map[string]string{"SPAM_MIN_TIME": "1ms"}, track: true},
		{name: "an empty trap", change: object{"website": "  "}},
		{
			name:     "the trap",
			change:   object{"website": "https://spam.example"},
			want:     []lead.Signal{lead.Honeypot},
			inReview: true,
		},
		{
			name: "never tracked",
			env:  map[string]string{"SPAM_MIN_TIME": "1h"},
			want: []lead.Signal{lead.Untracked},
		},
		{
			name:     "too fast",
			env:      map[string]string{"SPAM_MIN_TIME": "1h"},
			track:    true,
			want:     []lead.Signal{lead.TooFast},
			inReview: true,
		},
		{
			name:   "a good token",
			env:    map[string]string{"TURNSTILE_SECRET": "hush"},
			change: object{"challengeToken": "good"},
		},
		{
			name:    "a good token in the header",
			env:     map[string]string{"TURNSTILE_SECRET": "hush"},
			headers: []string{"CF-Turnstile-Response: good"},
		},
		{
			name:     "a bad token",
			env:      map[string]string{"TURNSTILE_SECRET": "hush"},
			change:   object{"challengeToken": "bad"},
			want:     []lead.Signal{lead.NoChallenge},
			inReview: true,
		},
		{
			name:     "no token",
			env:      map[string]string{"TURNSTILE_SECRET": "hush"},
			want:     []lead.Signal{lead.NoChallenge},
			inReview: true,
		},
		{
			name:   "the vendor is away",
			env:    map[string]string{"TURNSTILE_SECRET": "hush", "TURNSTILE_API_URL": "http://127.0.0.1:1"},
			change: object{"challengeToken": "good"},
			want:   []lead.Signal{lead.Unchecked},
		},
		{
			name:     "everything",
			env:      map[string]string{"SPAM_MIN_TIME": "1h", "TURNSTILE_SECRET": "hush"},
			track:    true,
			change:   object{"website": "x", "challengeToken": "bad"},
			want:     []lead.Signal{lead.Honeypot, lead.TooFast, lead.NoChallenge},
			inReview: true,
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"TURNSTILE_API_URL": url}
			maps.Copy(env, tt.env)
			s := startService(t, env, quick)

			bothEndpoints(t, func(t *testing.T, endpoint string) {
				session := "spam-" + endpoint
				if tt.track {
					s.through(endpoint, "trackQuote", object{"input": object{"sessionId": session}})
					time.Sleep(5 * time.Millisecond)
				}

				in := validLead(session)
				in["selections"].(object)["features"] = []any{"blog"} // which has a price
				maps.Copy(in, tt.change)
				got := s.through(endpoint, "submitQuote", object{"input": in}, tt.headers...)
				if got.data["success"] != true {
					t.Fatalf("the answer is %s", got.raw)
				}

				id := got.data["submissionId"].(string)
				stored, err := s.app.data.Quotes.Lead(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}

				if !reflect.DeepEqual(stored.Signals, tt.want) || stored.InReview != tt.inReview {
					t.Errorf("stored with %v, in review %v; want %v, %v",
						stored.Signals, stored.InReview, tt.want, tt.inReview)
				}

				s.arrives(id, !tt.inReview)
				if pdf := s.do("GET", "/api/quote/pdf?id="+id, ""); pdf.status != 200 {
					t.Errorf("the visitor's PDF answers %d", pdf.status)
				}
			})
		})
	}
}

// The answer does not show whether a lead is in review.
func TestLeadsInReviewLookLikeOthers(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)

	shape := func(in object) string {
		got := s.through("REST", "submitQuote", object{"input": in})
		return strings.ReplaceAll(got.raw, got.data["submissionId"].(string), "ID")
	}

	trapped := validLead("looks-2")
	trapped["website"] = "x"
	if a, b := shape(validLead("looks-1")), shape(trapped); a != b {
		t.Errorf("answers differ:\n%s\n%s", a, b)
	}
}

// A retry of a lead in review gets the same id and does not have it delivered; the
// same content without the trap is not another lead either.
func TestLeadsInReviewStayThereWhenRepeated(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	in := validLead("again")
	in["website"] = "x"
	first := s.through("REST", "submitQuote", object{"input": in}).data["submissionId"].(string)

	delete(in, "website")
	if again := s.through("GraphQL", "submitQuote",
		object{"input": in}).data["submissionId"]; again != first {
		t.Errorf("the repetition got %v, want %s", again, first)
	}
	s.arrives(first, false)
}
