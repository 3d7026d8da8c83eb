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
	"time"

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

// Each kind of CDN gets the call that its vendor documents.
func TestPurge(t *testing.T) {
	t.Parallel()
	calls := map[string]struct {
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
	}
	for _, cdn := range edge.CDNs() {
		want, known := calls[cdn.Kind]
		if !known {
			t.Errorf("%s: add the call that it gets to this test", cdn.Kind)
			continue
		}
		url, requests := receiver(t, 200)
		p, err := edge.NewPurger(cdn, "secret", edge.Options{URL: url + "/zones/1/purge?x=y"})
		if err == nil {
			err = p.Purge(t.Context(), keys)
		}
		must(t, err)

		got := <-requests
		body, _ := io.ReadAll(got.Body)
		if got.Method != want.method || got.URL.String() != "/zones/1/purge?x=y" || string(body) != want.body {
			t.Errorf("%s: %s %s %s", cdn.Kind, got.Method, got.URL, body)
		}
		for name, value := range want.header {
			if got.Header.Get(name) != value {
				t.Errorf("%s: %s is %q, want %q", cdn.Kind, name, got.Header.Get(name), value)
			}
		}
	}
}

// TestSuccessIsNotOnlyAStatus reads responses with the status of a success.
func TestSuccessIsNotOnlyAStatus(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind, body, failure string
	}{
		{"cloudflare", `{"success":true,"errors":[],"result":{"id":"x"}}`, ""},
		{"cloudflare", `{"success":false,"errors":[{"code":10000,"message":"Authentication error"}]}`, "Authentication error"},
		{"cloudflare", `{"success":false}`, "success: false"},
		{"cloudflare", `{"success":false,"errors":null}`, "success: false"},
		{"cloudflare", `{"success":false,"errors":[{"code":1134,"message":"Unable to purge"},{"message":"try later"}]}`, "try later"},
		{"cloudflare", `{"Success":false}`, "success: false"},
		{"cloudflare", ``, ""}, // the status decides
		{"cloudflare", `ok`, ""},
		{"cloudflare", `{"result":null}`, ""},
		{"cloudflare", `{"success":null}`, ""},
		{"fastly", `{"success":false}`, ""},
		{"varnish", `{"success":false}`, ""},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tc.body) }))
		cdn, _ := edge.Find(tc.kind)
		p, err := edge.NewPurger(cdn, "secret", edge.Options{URL: s.URL})
		must(t, err)
		err = p.Purge(t.Context(), keys)
		s.Close()
		if (err != nil) != (tc.failure != "") || err != nil && !strings.Contains(err.Error(), tc.failure) {
			t.Errorf("%s responds with %s: %v, want %q", tc.kind, tc.body, err, tc.failure)
		}
	}
}

// TestManual checks that the table of the manual has a row for every kind, that it explains
// every header, and that Varnish removes the headers before readers get them.
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
		if c.Keys != "" && !slices.Contains(edge.Headers(), c.Keys) {
			t.Errorf("%s needs the header %s, which responses have not", c.Kind, c.Keys)
		}
	}

	vcl, err := os.ReadFile("../../cmd/siteapi/deploy/varnish.vcl")
	must(t, err)
	header := http.Header{}
	edge.SetHeaders(header, keys, time.Hour)
	if len(header) != len(edge.Headers()) {
		t.Errorf("responses have the headers %v, want %v", header, edge.Headers())
	}
	for _, name := range edge.Headers() {
		if !strings.Contains(string(vcl), "unset resp.http."+name+";") || !strings.Contains(string(manual), "`"+name) {
			t.Errorf("varnish.vcl or integrations/edge/README.md lacks %s", name)
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
