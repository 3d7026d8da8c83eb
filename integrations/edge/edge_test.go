package edge_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"siteapi/integrations/edge"
)

var keys = []string{"content:locale:en", "content:locale:es"}

// receiver responds with a status and returns the requests that it receives.
func receiver(t *testing.T, status int) (url string, got <-chan *http.Request) {
	t.Helper()
	requests := make(chan *http.Request, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		requests <- r
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

func TestPurge(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]struct {
		method, body string
		header       map[string]string
	}{
		"varnish": {"PURGE", "", map[string]string{
			"Authorization": "Bearer secret",
			"Cache-Tag":     "content:locale:en content:locale:es",
		}},
		"fastly": {"POST", "", map[string]string{
			"Authorization":     "",
			"Fastly-Key":        "secret",
			"Fastly-Soft-Purge": "1",
			"Surrogate-Key":     "content:locale:en content:locale:es",
		}},
		"cloudflare": {"POST", `{"tags":["content:locale:en","content:locale:es"]}`, map[string]string{
			"Authorization": "Bearer secret",
			"Content-Type":  "application/json",
		}},
	} {
		url, requests := receiver(t, 200)
		cdn, _ := edge.Find(kind)
		p, err := edge.NewPurger(cdn, "secret", edge.Options{URL: url + "/zones/1/purge?x=y"})
		if err == nil {
			err = p.Purge(t.Context(), keys)
		}
		must(t, err)

		got := <-requests
		body, _ := io.ReadAll(got.Body)
		if got.Method != want.method || got.URL.String() != "/zones/1/purge?x=y" || string(body) != want.body {
			t.Errorf("%s: %s %s %s", kind, got.Method, got.URL, body)
		}
		for name, value := range want.header {
			if got.Header.Get(name) != value {
				t.Errorf("%s: %s is %q, want %q", kind, name, got.Header.Get(name), value)
			}
		}
	}
}

// TestManual checks that the table of the manual has a row for every kind.
func TestManual(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("README.md")
	must(t, err)
	for _, c := range edge.CDNs() {
		keys := "list `tags` of the JSON body"
		if c.Keys != "" {
			keys = "header `" + c.Keys + "`"
		}
		row := fmt.Sprintf("| `%s` | `%s` | %s | `%s` | %s |",
			c.Kind, c.Method, keys, cmp.Or(c.Token, "Authorization"), c.Every)
		if !strings.Contains(string(manual), row) {
			t.Errorf("integrations/edge/README.md lacks the row %s", row)
		}
	}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	const secret = "whsec_bGVhZGxlYWRsZWFkbGVhZGxlYWRsZWFk"
	verifier, err := standardwebhooks.NewWebhook(secret)
	must(t, err)
	url, requests := receiver(t, 204)
	n, err := edge.NewNotifier([]string{secret}, edge.Options{URL: url + "/revalidate"})
	must(t, err)

	ids := map[string]bool{}
	for range 2 {
		must(t, n.Notify(t.Context(), keys))
		got := <-requests
		body, _ := io.ReadAll(got.Body)

		var event struct {
			Type string
			Data edge.Changed
		}
		if err := verifier.Verify(body, got.Header); err != nil {
			t.Error(err)
		}
		if err := json.Unmarshal(body, &event); err != nil || event.Type != "content.changed" ||
			!slices.Equal(event.Data.Keys, keys) || !slices.Equal(event.Data.Locales, []string{"en", "es"}) {
			t.Errorf("%v: %s", err, body)
		}
		ids[got.Header.Get("Webhook-Id")] = true
	}
	if len(ids) != 2 {
		t.Error("a repetition has the same id: a receiver would ignore it")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
