package content

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
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
	const (
		manager = "SANITY_TOKEN=may-manage"
		less    = manager + " CMS_WEBHOOK_SIGNING_SECRET= SITE_URL= CMS_WEBHOOK_SECRET="
	)
	for _, tt := range []struct {
		more, command string // settings and arguments, separated by spaces
		code, hooks   int
		want          []string
	}{
		{manager, "cms setup", 0, 0, []string{
			"https://api.example/api/webhooks/cms", "{_id, _type, language, locale, _lang, __i18n_lang}",
		}},
		{less, "cms setup", 0, 0, []string{
			"missing setting: SITE_URL", "missing setting: CMS_WEBHOOK_SECRET",
			"missing setting: CMS_WEBHOOK_SIGNING_SECRET",
		}},
		{less, "cms setup --create", 1, 0, []string{"set SITE_URL and CMS_WEBHOOK_SECRET first"}},
		{"SANITY_TOKEN=may-write", "cms setup --create", 1, 0, []string{"create the webhook by hand"}},
		{manager, "cms setup --create", 0, 1, []string{"webhook created"}},
		{manager, "cms setup --create", 0, 1, []string{`the webhook "siteapi" already exists`}},
		{"CMS_DRIVER=file", "cms setup", 0, 1, []string{"needs no webhook"}},
	} {
		settings := append(slices.Clone(env), strings.Fields(tt.more)...)
		out, code := apptest.Command(t, settings, strings.Fields(tt.command)...)
		lacks := slices.ContainsFunc(tt.want, func(want string) bool { return !strings.Contains(out, want) })
		if code != tt.code || lacks || len(created()) != tt.hooks ||
			strings.Contains(out, "the-token") || strings.Contains(out, "the-signing") {
			t.Errorf("%s with %s: %d, want %d and %q: %s", tt.command, tt.more, code, tt.code, tt.want, out)
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
}
