package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// readiness is the answer of /readyz.
type readiness struct {
	Status       string
	Dependencies map[string]struct {
		Status   string
		Required bool
		AskedAt  time.Time `json:"askedAt"`
	}
}

func (s *service) readiness() (int, readiness) {
	s.t.Helper()
	got := s.do("GET", "/readyz", "")
	var r readiness
	if err := json.Unmarshal(got.body, &r); err != nil {
		s.t.Fatalf("%s: %v", got.body, err)
	}
	return got.status, r
}

// With everything down the process lives, says what is down, and serves what it can.
func TestHealthWithDependenciesDown(t *testing.T) {
	t.Parallel()
	nobody := "127.0.0.1:1"
	s := startService(t, map[string]string{
		"CMS_DRIVER": "sanity", "SANITY_PROJECT_ID": "p", "SANITY_TOKEN": "t", "SANITY_API_URL": "http://" + nobody,
		"CRM_DRIVER": "hubspot", "HUBSPOT_TOKEN": "t", "HUBSPOT_API_URL": "http://" + nobody, "CACHE_URL": "valkey://" + nobody,
	})
	status, r := s.readiness()
	if status != 200 || r.Status != "ok" {
		t.Errorf("without what it can do without: %d %+v", status, r)
	}
	for name, want := range map[string]string{"database": "ok", "cache": "unavailable", "cms": "unavailable", "crm": "unavailable"} {
		d := r.Dependencies[name]
		if d.Status != want || d.Required != (name == "database") || time.Since(d.AskedAt) > time.Minute {
			t.Errorf("%s: %+v, want %s", name, d, want)
		}
	}
	if len(r.Dependencies) != 4 {
		t.Errorf("dependencies: %+v", r.Dependencies)
	}
	if err := s.app.data.close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is not ready without its database", func() bool {
		status, r := s.readiness()
		return status == 503 && r.Status == "unavailable" && r.Dependencies["database"].Status == "unavailable"
	})
	if got := s.do("GET", "/healthz", ""); got.status != 200 || !strings.Contains(string(got.body), `"ok"`) {
		t.Errorf("/healthz with everything down: %d %s", got.status, got.body)
	}
	if log := s.log.String(); strings.Count(log, `"dependency":"cms"`) != 1 || strings.Count(log, `"dependency":"database"`) != 1 {
		t.Errorf("the log says more or less than once what is down: %s", log)
	}
}

// However often it is called, the dependencies are asked once in a while, and all who
// call meanwhile get that answer.
func TestProbesAreAskedRarely(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	p := &probe{name: "x", required: true, life: time.Hour, log: zerolog.Nop(), ask: func(context.Context) error {
		asked.Add(1)
		time.Sleep(20 * time.Millisecond)
		return nil
	}}
	h := &health{probes: []*probe{p}}
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			w := httptest.NewRecorder()
			h.ready(w, httptest.NewRequest("GET", "/readyz", nil))
			if w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("got %d %v", w.Code, w.Header())
			}
		})
	}
	group.Wait()
	if asked.Load() != 1 {
		t.Errorf("asked %d times, want 1", asked.Load())
	}
}

// What is down is asked sooner; a caller who goes away does not spoil the answer.
func TestProbeLives(t *testing.T) {
	t.Parallel()
	fail := errors.New("down")
	for name, tt := range map[string]struct {
		err  error
		life time.Duration
		age  time.Duration
		want bool // asked again
	}{
		"up, just asked":      {nil, remoteLife, downLife + time.Second, false},
		"up, asked long ago":  {nil, remoteLife, remoteLife + time.Second, true},
		"down, just asked":    {fail, remoteLife, time.Second, false},
		"down for a while":    {fail, remoteLife, downLife + time.Second, true},
		"near and down":       {fail, nearLife, 2 * time.Second, true},
		"near and just asked": {fail, nearLife, 10 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := false
			p := &probe{life: tt.life, log: zerolog.Nop(), last: word{tt.err, time.Now().Add(-tt.age)}, ask: func(ctx context.Context) error {
				asked = true
				return ctx.Err()
			}}
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if got := p.state(gone); asked != tt.want || asked && got.err != nil {
				t.Errorf("asked %v, want %v: %+v", asked, tt.want, got)
			}
		})
	}
}
