package main

import (
	"net/http"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/config"
)

func TestPlayground(t *testing.T) {
	t.Parallel()
	inProduction := map[string]string{
		"ENVIRONMENT": config.Production, "CACHE_API_TOKEN": "cache-secret-of-this-test", "CMS_WEBHOOK_SECRET": "webhook-secret-of-this-test",
	}
	switchedOn := map[string]string{"GRAPHQL_PLAYGROUND": "on"}
	for name, value := range inProduction {
		switchedOn[name] = value
	}
	cases := map[string]struct {
		env           map[string]string
		status        int
		says, without []string
	}{
		"in development": {
			status: http.StatusOK, says: []string{config.DevCacheToken, config.DevWebhookSecret},
		},
		"with tokens of one's own": {
			env: map[string]string{"CACHE_API_TOKEN": "cache-secret-of-this-test"}, status: http.StatusOK,
			says: []string{"CACHE_API_TOKEN", config.DevWebhookSecret}, without: []string{"cache-secret-of-this-test", config.DevCacheToken},
		},
		"in production": {env: inProduction, status: http.StatusNotFound},
		"in production, switched on": {
			env: switchedOn, status: http.StatusOK,
			says:    []string{"CACHE_API_TOKEN", "CMS_WEBHOOK_SECRET"},
			without: []string{"secret-of-this-test", config.DevCacheToken, config.DevWebhookSecret},
		},
		"switched off": {env: map[string]string{"GRAPHQL_PLAYGROUND": "off"}, status: http.StatusNotFound},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startService(t, c.env)
			r := s.do(http.MethodGet, "/playground", "")
			if r.status != c.status {
				t.Fatalf("status %d, want %d", r.status, c.status)
			}
			for _, want := range c.says {
				if !strings.Contains(string(r.body), want) {
					t.Errorf("the page does not say %s", want)
				}
			}
			for _, bad := range c.without {
				if strings.Contains(string(r.body), bad) {
					t.Errorf("the page says %s", bad)
				}
			}
		})
	}
}

func TestPlaygroundRefusesWithProblems(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	for request, want := range map[string]struct {
		status int
		code   string
	}{
		"GET /playground/nothing":        {http.StatusNotFound, "NOT_FOUND"},
		"GET /playground/assets/nothing": {http.StatusNotFound, "NOT_FOUND"},
		"GET /playgrounds":               {http.StatusNotFound, "NOT_FOUND"},
		"POST /playground":               {http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED"},
	} {
		method, path, _ := strings.Cut(request, " ")
		r := s.do(method, path, "")
		if r.status != want.status || !strings.Contains(string(r.body), want.code) ||
			r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", request, r.status, r.body)
		}
	}
}
