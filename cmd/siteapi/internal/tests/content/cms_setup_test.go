package content

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

// TestCMSSetup prints the webhook and creates it once; no secret is printed.
func TestCMSSetup(t *testing.T) {
	t.Parallel()
	var (
		mu    sync.Mutex
		hooks []json.RawMessage
	)

	created := func(more ...json.RawMessage) []json.RawMessage {
		mu.Lock()
		defer mu.Unlock()
		hooks = append(hooks, more...)
		return append([]json.RawMessage{}, hooks...)
	}

	stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/v2021-10-04/hooks/projects/abc123":
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer may-manage":
			w.WriteHeader(403)
			_, _ = io.WriteString(w, `{"statusCode":403,"error":"Forbidden","message":"not allowed"}`)
		case r.Method == "POST":
			body, _ := io.ReadAll(r.Body)
			created(body)
			_, _ = w.Write(body)
		default:
			_ = json.NewEncoder(w).Encode(created())
		}
	}))
	t.Cleanup(stub.Close)

	env := []string{
		"ENVIRONMENT=development",
		"CMS_DRIVER=sanity",
		"SANITY_PROJECT_ID=abc123",
		"SANITY_DATASET=production",
		"SANITY_API_URL=" + stub.URL,
		"SITE_URL=https://api.example",
		"CMS_WEBHOOK_SECRET=the-token-of-the-webhook",
		"CMS_WEBHOOK_SIGNING_SECRET=the-signing-secret",
	}
	with := func(more ...string) []string { return append(append([]string{}, env...), more...) }

	out, code := apptest.Command(t, with("SANITY_TOKEN=may-manage"), "cms", "setup")
	if code != 0 || !strings.Contains(out, "https://api.example/api/webhooks/cms") ||
		!strings.Contains(out, "{_id, _type, language, locale, _lang, __i18n_lang}") ||
		strings.Contains(out, "the-token") || strings.Contains(out, "the-signing") || len(created()) != 0 {
		t.Errorf("%d %s", code, out)
	}

	less := with("SANITY_TOKEN=may-manage", "CMS_WEBHOOK_SIGNING_SECRET=", "SITE_URL=", "CMS_WEBHOOK_SECRET=")
	out, code = apptest.Command(t, less, "cms", "setup")
	if code != 0 || !strings.Contains(out, "missing setting: SITE_URL") ||
		!strings.Contains(out, "missing setting: CMS_WEBHOOK_SECRET") ||
		!strings.Contains(out, "missing setting: CMS_WEBHOOK_SIGNING_SECRET") {
		t.Errorf("with settings missing: %d %s", code, out)
	}

	out, code = apptest.Command(t, append(less, "SANITY_TOKEN=may-manage"), "cms", "setup", "--create")
	if code != 1 || !strings.Contains(out, "set SITE_URL and CMS_WEBHOOK_SECRET first") {
		t.Errorf("without the two settings: %d %s", code, out)
	}

	out, code = apptest.Command(t, with("SANITY_TOKEN=may-write"), "cms", "setup", "--create")
	if code != 1 || !strings.Contains(out, "create the webhook by hand") || len(created()) != 0 {
		t.Errorf("a token without permission: %d %s", code, out)
	}

	for _, want := range []string{"webhook created", `the webhook "siteapi" already exists`} {
		if out, code = apptest.Command(t, with("SANITY_TOKEN=may-manage"), "cms", "setup", "--create"); code != 0 ||
			!strings.Contains(out, want) {
			t.Errorf("%d, want %q: %s", code, want, out)
		}
	}

	var hook struct {
		URL, Secret string
		Headers     map[string]string
		Rule        struct{ On []string }
	}
	if len(created()) != 1 || json.Unmarshal(created()[0], &hook) != nil ||
		hook.Secret != "the-signing-secret" ||
		hook.Headers["Authorization"] != "Bearer the-token-of-the-webhook" || len(hook.Rule.On) != 3 {
		t.Errorf("created %s", created())
	}

	if out, code = apptest.Command(t, []string{"ENVIRONMENT=development"}, "cms", "setup"); code != 0 ||
		!strings.Contains(out, "needs no webhook") {
		t.Errorf("the file driver: %d %s", code, out)
	}
}
