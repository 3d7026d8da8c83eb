package limits

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestContractRateLimits(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "RATE_LIMITS=on", "TRUSTED_PROXIES=::ffff:127.0.0.1")

	from := func(address string, i int) apptest.Outcome {
		return s.SubmitThrough("REST", apptest.ValidLead(fmt.Sprint("s-", i)), "X-Forwarded-For: "+address)
	}

	began, accepted := time.Now(), 0
	// The burst of 10 is accepted, and one more lead every 3 s.
	most := func() int { return 11 + int(time.Since(began)/(3*time.Second)) }

	var refused apptest.Outcome
	for ; refused.Code == "" && accepted <= most(); accepted++ {
		refused = from("198.51.100.1", accepted)
	}
	if accepted--; accepted < 10 || accepted > most() {
		t.Errorf("%d leads in a row were accepted, want the burst of 10", accepted)
	}

	if seconds, err := strconv.Atoi(refused.Header.Get("Retry-After")); refused.Status != 429 ||
		refused.Code != "RATE_LIMITED" || err != nil || seconds < 1 {
		t.Errorf("got %s, Retry-After %q", refused, refused.Header.Get("Retry-After"))
	}

	if got := from("198.51.100.2", 100); got.Status != 200 {
		t.Errorf("another client is rejected too: %s", got)
	}
	if got := s.Do("GET", "/api/cache/clear", "", "X-Forwarded-For: 198.51.100.1"); got.Status != 200 {
		t.Errorf("another route is rejected too: %d", got.Status)
	}

	var group sync.WaitGroup
	var limited atomic.Int64
	for range 16 { // sequential requests would stay below the limit
		group.Go(func() {
			for i := 0; i < 200 && limited.Load() == 0; i++ {
				got := s.Query("{ cacheStats { success } }", nil, "X-Forwarded-For: 198.51.100.3")
				if got.Status == 429 && s.GraphQLOutcome(got).Code == "RATE_LIMITED" &&
					got.Header.Get("Retry-After") != "" {
					limited.Add(1)
				}
			}
		})
	}
	if group.Wait(); limited.Load() == 0 {
		t.Error("GraphQL requests are not limited")
	}

	refused, began = apptest.Outcome{}, time.Now()
	for i := 0; refused.Code == ""; i++ {
		refused = s.SubmitThrough("GraphQL", apptest.ValidLead(fmt.Sprint("g-", i)), "X-Forwarded-For: 198.51.100.4")
		if i > most() {
			t.Fatal("GraphQL bypasses the rate limit for leads")
		}
	}
	if refused.Code != "RATE_LIMITED" {
		t.Errorf("got %s", refused)
	}

	for i := range 60 {
		if got := s.Do("HEAD", "/api/quote/pdf?id=none", "",
			"X-Forwarded-For: 198.51.100.6"); got.Status == 429 {
			break
		} else if i == 59 {
			t.Error("HEAD bypasses the rate limit for PDFs")
		}
	}
}
