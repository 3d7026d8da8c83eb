package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"siteapi/integrations/store/storetest/pgserver"
)

// singleUse is a bot check whose tokens are good once: the answer is repeated for the
// same idempotency key only.
func singleUse(t *testing.T) (url string) {
	var mu sync.Mutex
	spent := map[string]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Response string
			Key      string `json:"idempotency_key"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if key, ok := spent[in.Response]; ok && (key == "" || key != in.Key) {
			_, _ = io.WriteString(w, `{"success":false,"error-codes":["timeout-or-duplicate"]}`)
			return
		}
		spent[in.Response] = in.Key
		_, _ = io.WriteString(w, `{"success":true}`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestRetryAfter503KeepsItsChallenge sends a submission while the database is away and
// again, with the same token, when it is back. Another lead gains nothing from that token.
func TestRetryAfter503KeepsItsChallenge(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t)
	dir := t.TempDir()
	env := []string{"DATABASE_URL=" + pg.NewDatabase(t), "TURNSTILE_SECRET=hush", "TURNSTILE_API_URL=" + singleUse(t)}
	r := launch(t, dir, env...)
	in := validSubmission("retry")
	in["challengeToken"] = "token-1"
	pg.Stop(t)
	if status, answer := r.post("/api/quote/submit", in); status != http.StatusServiceUnavailable {
		t.Fatalf("with the database away: %d %v", status, answer)
	}
	pg.Start(t)
	eventually(t, "the retry is accepted", func() bool {
		status, _ := r.post("/api/quote/submit", in)
		return status == http.StatusOK
	})
	s := &service{t: t, dataDir: dir}
	eventually(t, "the lead is delivered", func() bool { return len(s.files("cms")) == 1 })

	other := validSubmission("thief")
	other["challengeToken"] = "token-1"
	if status, answer := r.post("/api/quote/submit", other); status != http.StatusOK {
		t.Fatalf("another lead: %d %v", status, answer)
	}
	out, code := command(t, append(env, "ENVIRONMENT=development"), "leads", "list", "--in-review")
	if code != 0 || strings.Count(out, "@example.com") != 1 {
		t.Errorf("in review are (%d):\n%s", code, out)
	}
}
