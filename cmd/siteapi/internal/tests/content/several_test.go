package content

import (
	"fmt"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/store/storetest/pgserver"
)

// hero writes a content file with one title.
func hero(s *apptest.Client, title string) {
	s.WriteContent(`[{"_id":"h","_type":"heroSection","language":"es","title":"` + title + `"}]`)
}

// TestCacheServerOutage stops and starts the cache server of a running service.
func TestCacheServerOutage(t *testing.T) {
	t.Parallel()
	valkey := valkeyserver.Start(t)
	s := apptest.Start(t, "CACHE_URL="+valkey.URL())
	hero(&s.Client, "before")
	apptest.Eventually(t, "the content is shown", func() bool {
		return s.Query(apptest.AskHero, nil).Has("before")
	})
	available := func() bool {
		stats, _ := s.Through("REST", "cacheStats", nil).Data["stats"].(map[string]any)
		return stats["type"] == "valkey" && stats["available"] == true
	}

	valkey.Stop()
	apptest.Eventually(t, "the statistics report the outage", func() bool { return !available() })
	if got := s.Query(apptest.AskHero, nil); !got.Is(200, "before") {
		t.Errorf("without the cache server: %s", got)
	}
	for name, vars := range map[string]map[string]any{
		"clearCache":        {"all": true},
		"invalidateCache":   {"input": map[string]any{"type": "all"}},
		"receiveCmsWebhook": {"payload": map[string]any{"_type": "heroSection"}}, // retried by the CMS
	} {
		auth := apptest.CacheAuth
		if name == "receiveCmsWebhook" {
			auth = apptest.HookAuth
		}
		if got := s.Through("REST", name, vars, auth); got.Code != "UPSTREAM_UNAVAILABLE" ||
			got.Status != 503 || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s without the cache server: %s", name, got)
		}
	}

	hero(&s.Client, "meanwhile")
	must(t, valkey.Start())
	apptest.Eventually(t, "the server is used again", available)
	apptest.Eventually(t, "the new content is shown", func() bool {
		return s.Query(apptest.AskHero, nil).Has("meanwhile")
	})
}

// TestDatabaseOutage stops and starts PostgreSQL while a service runs.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t)
	s := apptest.Start(t, "DATABASE_URL="+pg.NewDatabase(t))
	submit := func(session string) apptest.Outcome {
		return s.SubmitThrough("REST", apptest.ValidLead(session))
	}
	first := submit("before")
	if first.Status != 200 {
		t.Fatalf("got %s", first)
	}

	pg.Stop(t)
	for name, got := range map[string]apptest.Outcome{
		"submit": submit("away"),
		"track":  s.TrackThrough("REST", object{"sessionId": "away"}),
	} {
		if got.Code != "UPSTREAM_UNAVAILABLE" || got.Status != 503 || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s without the database: %s", name, got)
		}
	}
	for path, status := range map[string]int{
		fmt.Sprint("/api/quote/pdf?id=", first.Data["submissionId"]): 503,
		"/readyz":  503,
		"/healthz": 200,
	} {
		if got := s.Do("GET", path, ""); got.Status != status {
			t.Errorf("%s without the database: %s", path, got)
		}
	}
	if got := s.Query(`{ SiteSettings(id: "siteSettings") { contactEmail } }`, nil); !got.Has("lumen-studio") {
		t.Errorf("content without the database: %s", got.Body)
	}

	pg.Start(t)
	apptest.Eventually(t, "leads are accepted again", func() bool { return submit("after").Status == 200 })
	if n := s.StoredLeads(); n != 2 {
		t.Errorf("%d leads are stored, want 2: none of the rejected ones", n)
	}
	apptest.Eventually(t, "all deliveries arrive", func() bool { return len(s.Files("cms")) == 2 })
}
