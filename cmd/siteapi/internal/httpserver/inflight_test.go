package httpserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/ratelimit"
	"siteapi/rest"
	"siteapi/schema"
)

type unlimited struct{}

func (unlimited) Allow(context.Context, string, int, ratelimit.Rule) (bool, time.Duration) {
	return true, 0
}

// Other requests succeed while those that need the database or the OpenID Connect
// provider hang. A large body counts as 16 of the 64 requests of a client.
func TestInFlight(t *testing.T) {
	t.Parallel()
	settings := &config.Settings{MaxRequests: 100}
	for name, c := range map[string]struct {
		enter func(*InFlight, context.Context) *schema.Error
		body  string
		fit   int // number of admitted requests
		after int // status of another request without enter
	}{
		"content":         {fit: 100, after: 503},
		"database":        {enter: (*InFlight).EnterDatabase, fit: 50, after: 200},
		"sign-in":         {enter: (*InFlight).EnterSignIn, fit: 16, after: 200},
		"of one client":   {fit: 64, after: 429},
		"large bodies":    {body: strings.Repeat(" ", largeBody+1), fit: 4, after: 429},
		"of usual bodies": {body: strings.Repeat(" ", largeBody), fit: 64, after: 429},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Server{Options: Options{InFlight: NewInFlight(settings, prometheus.NewRegistry()), REST: &rest.API{}}}
			if c.after == 429 {
				s.RateLimits = &RateLimits{Shared: unlimited{}, Local: unlimited{}}
			}
			serve := func(body string, h http.HandlerFunc) int {
				r := httptest.NewRequest("POST", "/", strings.NewReader(body))
				r = r.WithContext(withRecord(r.Context(), &record{counted: map[string]int{}}))
				w := httptest.NewRecorder()
				s.admit(h).ServeHTTP(w, r)
				return w.Code
			}

			// Each request sends the next one.
			fit, after := 0, 0
			var next func(w http.ResponseWriter, r *http.Request)
			next = func(w http.ResponseWriter, r *http.Request) {
				if c.enter != nil && (c.enter(s.InFlight, r.Context()) != nil || c.enter(s.InFlight, r.Context()) != nil) {
					after = serve("", func(http.ResponseWriter, *http.Request) {})
					return
				}
				fit++
				if serve(c.body, next) != 200 {
					after = serve("", func(http.ResponseWriter, *http.Request) {})
				}
			}
			serve(c.body, next)

			if fit != c.fit || after != c.after {
				t.Errorf("%d admitted, want %d; another request gets %d", fit, c.fit, after)
			}
			if len(s.InFlight.counts) > 0 {
				t.Errorf("the counters are not empty at the end: %v", s.InFlight.counts)
			}
		})
	}
}

// Streams count per client, separately from its other requests. They count as waiting for
// the OpenID Connect provider only during a check of their login.
func TestStreamsInFlight(t *testing.T) {
	t.Parallel()
	f := NewInFlight(&config.Settings{MaxRequests: 100}, prometheus.NewRegistry())
	for i := range maxOfClient + 1 {
		rec := &record{counted: map[string]int{}}
		r := httptest.NewRequest("POST", "/", nil)
		r = r.WithContext(withRecord(r.Context(), rec))
		if refused := f.enter(rec, "client", 1); refused != nil {
			t.Fatalf("request %d refused: %v", i, refused)
		}
		if _, _, refused := f.BeginStream(r); (refused != nil) != (i == maxOfClient) {
			t.Errorf("stream %d: %v", i, refused)
		}

		if refused := f.EnterSignIn(r.Context()); refused != nil {
			t.Fatalf("stream %d cannot check its login: %v", i, refused)
		}
		f.LeaveSignIn(r.Context())
	}
}
