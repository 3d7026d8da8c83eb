package content

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
)

// manyStats returns a query that selects the cache statistics twenty times.
func manyStats() string {
	var query strings.Builder
	for i := range 20 {
		fmt.Fprintf(&query, " a%d: cacheStats { stats { size available } }", i)
	}
	return "{" + query.String() + " }"
}

// scans returns the number of SCAN commands that a server has received.
func scans(t *testing.T, server *valkeyserver.Server) int {
	t.Helper()
	info, err := server.Do("INFO", "commandstats")
	must(t, err)

	found := regexp.MustCompile(`cmdstat_scan:calls=(\d+)`).FindStringSubmatch(fmt.Sprint(info))
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// TestStatsCountOncePerSecond reads the statistics often. The server's keys are counted
// at most once a second, and never for health checks.
func TestStatsCountOncePerSecond(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	r := apptest.Launch(t, t.TempDir(), "CACHE_URL="+server.URL())

	for range 20 {
		if got := r.Do("GET", "/readyz", ""); got.Status != 200 {
			t.Fatalf("readiness: %s", got)
		}
	}
	if n := scans(t, server); n != 0 {
		t.Errorf("%d counts for health checks", n)
	}

	began := time.Now()
	for range 20 {
		if got := r.Query(manyStats()); strings.Count(got, `"available":true`) != 20 {
			t.Fatalf("got %s", got)
		}
	}
	if n, most := scans(t, server), int(time.Since(began).Seconds())+1; n < 1 || n > most {
		t.Errorf("400 statistics caused %d counts, want 1 to %d", n, most)
	}
}

// TestStatsAreChargedLikeTheirRoute reads the statistics through GraphQL until the REST
// route's rate limit rejects the client.
func TestStatsAreChargedLikeTheirRoute(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir(), apptest.DefaultLimits(t)...)

	apptest.Eventually(t, "the client is rejected", func() bool {
		return strings.Contains(r.Query(manyStats()), `"RATE_LIMITED"`)
	})
	if got := r.Do("GET", "/api/cache/clear", ""); got.Status != 200 && got.Status != 429 {
		t.Errorf("REST: %s", got)
	}
}
