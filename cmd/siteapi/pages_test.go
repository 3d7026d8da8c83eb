package main

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/config"
)

func TestPlayground(t *testing.T) {
	t.Parallel()
	inProduction := map[string]string{
		"ENVIRONMENT": config.Production, "CACHE_API_TOKEN": "cache-secret-of-this-test",
		"CMS_WEBHOOK_SECRET": "webhook-secret-of-this-test",
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
			says:    []string{"CACHE_API_TOKEN", config.DevWebhookSecret},
			without: []string{"cache-secret-of-this-test", config.DevCacheToken},
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

func TestFrontPage(t *testing.T) {
	t.Parallel()
	production := map[string]string{
		"ENVIRONMENT": config.Production, "CACHE_API_TOKEN": "cache-secret-of-this-test",
		"CMS_WEBHOOK_SECRET": "webhook-secret-of-this-test",
	}
	switchedOn := maps.Clone(production)
	switchedOn["FRONT_PAGE"] = "on"
	pages := []string{"/", "/assets/front.css", "/calculator", "/docs"}
	for name, c := range map[string]struct {
		env           map[string]string
		status        int
		says, without []string
	}{
		"in development": {
			status:  http.StatusOK,
			says:    []string{config.DevCacheToken, config.DevWebhookSecret, config.DevAdminToken, `href="/playground" >`},
			without: []string{"{{"},
		},
		"in production, switched on": {
			env: switchedOn, status: http.StatusOK,
			says: []string{"CACHE_API_TOKEN", `href="/playground" hidden>`}, without: []string{"secret-of-this-test", "dev-"},
		},
		"in production": {env: production, status: http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startService(t, c.env)
			for _, path := range pages {
				if r := s.do(http.MethodGet, path, ""); r.status != c.status {
					t.Errorf("%s: status %d, want %d", path, r.status, c.status)
				}
			}
			text := string(s.do(http.MethodGet, "/", "").body)
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("the page does not say %s", want)
				}
			}
			for _, bad := range c.without {
				if strings.Contains(text, bad) {
					t.Errorf("the page says %s", bad)
				}
			}
		})
	}
}

// A browser that opens the GraphQL endpoint gets the playground; a query is answered, whatever it accepts.
func TestGraphQLOpenedInABrowser(t *testing.T) {
	t.Parallel()
	const browser, query = "text/html,application/xhtml+xml,*/*;q=0.8", "/graphql?query=%7B__typename%7D"
	open, closed := startService(t, nil), startService(t, map[string]string{"GRAPHQL_PLAYGROUND": "off"})
	for _, c := range []struct {
		service      *service
		path, accept string
		page         bool
	}{
		{open, "/graphql", browser, true}, {open, query, browser, false}, {open, "/graphql", "*/*", false},
		{closed, "/graphql", browser, false},
	} {
		r := c.service.do(http.MethodGet, c.path, "", "Accept: "+c.accept) // follows the redirect
		if strings.Contains(string(r.body), "siteapi playground") != c.page {
			t.Errorf("%s with Accept: %s: status %d, %s", c.path, c.accept, r.status, r.body)
		}
	}
}
