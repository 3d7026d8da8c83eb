package inbox

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
)

// A provider that hangs keeps no login waiting for another one, nor for a browser that has
// given up.
func TestSignInWhileTheProviderHangs(t *testing.T) {
	t.Parallel()
	var asked, givenUp atomic.Int32
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
		givenUp.Add(1)
	}))
	t.Cleanup(hanging.Close)
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, (&apptest.Provider{Server: hanging}).Environ(address)...).Start()

	logIn := func(ctx context.Context) int {
		r, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+"/admin/login", nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}

	ctx, cancel := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() { logIn(ctx) })
	apptest.Eventually(t, "the provider is asked", func() bool { return asked.Load() > 0 })
	cancel()
	first.Wait()
	apptest.Eventually(t, "the login ends with the browser", func() bool {
		return strings.Contains(s.Log.String(), `"outcome":"unavailable"`)
	})
	if givenUp.Load() > 0 {
		t.Error("the login went on until the provider was given up")
	}

	const logins = 40 // 16 wait for the provider, and the others are refused at once
	var all sync.WaitGroup
	for range logins {
		all.Go(func() {
			if status := logIn(t.Context()); status != http.StatusServiceUnavailable {
				t.Errorf("a login gives %d", status)
			}
		})
	}
	time.Sleep(time.Second)
	for range 10 {
		if got := s.Do("GET", "/api/cache/clear", ""); got.Status != http.StatusOK {
			t.Errorf("beside the logins another request gets %d", got.Status)
		}
	}
	all.Wait()
	if n := asked.Load(); n > logins/2 {
		t.Errorf("%d logins asked %d times, one after the other", logins+1, n)
	}
}
