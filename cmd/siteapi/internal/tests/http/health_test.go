package http

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
)

// ready is the response of /readyz.
type ready struct {
	Status       string
	Dependencies map[string]struct {
		Status   string
		Required bool
		AskedAt  time.Time
	}
}

func readiness(s *apptest.Service) (status int, r ready) {
	s.T.Helper()
	got := s.Do("GET", "/readyz", "")
	if err := json.Unmarshal(got.Body, &r); err != nil {
		s.T.Fatalf("%s: %v", got.Body, err)
	}
	return got.Status, r
}

// With all dependencies down the process stays alive, reports them, and serves what it
// can.
func TestHealthWithDependenciesDown(t *testing.T) {
	t.Parallel()
	closed := "127.0.0.1:1"
	s := apptest.Start(t,
		"CMS_DRIVER=sanity",
		"SANITY_PROJECT_ID=p",
		"SANITY_TOKEN=t",
		"SANITY_API_URL="+"http://"+closed,
		"CRM_DRIVER=hubspot",
		"HUBSPOT_TOKEN=t",
		"HUBSPOT_API_URL="+"http://"+closed,
		"CACHE_URL="+"valkey://"+closed,
	)

	status, r := readiness(s)
	if status != 200 || r.Status != "ok" {
		t.Errorf("without its optional dependencies: %d %+v", status, r)
	}

	for name, want := range map[string]string{
		"database": "ok",
		"cache":    "unavailable",
		"cms":      "unavailable",
		"crm":      "unavailable",
	} {
		d := r.Dependencies[name]
		if d.Status != want || d.Required != (name == "database") || time.Since(d.AskedAt) > time.Minute {
			t.Errorf("%s: %+v, want %s", name, d, want)
		}
	}
	if len(r.Dependencies) != 4 {
		t.Errorf("dependencies: %+v", r.Dependencies)
	}

	must(t, s.App.Data.Close())
	apptest.Eventually(t, "it is not ready without its database", func() bool {
		status, r := readiness(s)
		return status == 503 && r.Status == "unavailable" &&
			r.Dependencies["database"].Status == "unavailable"
	})

	if got := s.Do("GET", "/healthz", ""); !got.Is(200, `"ok"`) {
		t.Errorf("/healthz with everything down: %s", got)
	}
	if log := s.Log.String(); strings.Count(log, `"dependency":"cms"`) != 1 ||
		strings.Count(log, `"dependency":"database"`) != 1 {
		t.Errorf("the log does not report each outage once: %s", log)
	}
}
