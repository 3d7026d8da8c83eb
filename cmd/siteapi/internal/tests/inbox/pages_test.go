package inbox

import (
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
)

// The pages name the tokens of development where these are in use, and no others.
func TestPages(t *testing.T) {
	t.Parallel()
	inProduction := func(switches ...string) map[string]string {
		env := map[string]string{
			"ENVIRONMENT":        config.Production,
			"CACHE_API_TOKEN":    "cache-secret-of-this-test",
			"CMS_WEBHOOK_SECRET": "webhook-secret-of-this-test",
			"CONTENT_TYPES":      "heroSection,quoteOption",
		}
		for _, name := range switches {
			env[name] = "on"
		}
		return env
	}

	playground, front := []string{"/playground"}, []string{"/", "/calculator", "/docs", "/docs/schema.graphql"}
	for name, c := range map[string]struct {
		env           map[string]string
		paths         []string // the page of the first one is read
		status        int
		says, without []string
	}{
		"playground in development": {
			nil, playground, http.StatusOK,
			[]string{config.DevCacheToken, config.DevWebhookSecret}, nil,
		},
		"playground with tokens of one's own": {
			map[string]string{"CACHE_API_TOKEN": "cache-secret-of-this-test"}, playground, http.StatusOK,
			[]string{"CACHE_API_TOKEN", config.DevWebhookSecret},
			[]string{"cache-secret-of-this-test", config.DevCacheToken},
		},
		"playground in production": {inProduction(), playground, http.StatusNotFound, nil, nil},
		"playground in production, switched on": {
			inProduction("GRAPHQL_PLAYGROUND"), playground, http.StatusOK,
			[]string{"CACHE_API_TOKEN", "CMS_WEBHOOK_SECRET"},
			[]string{"secret-of-this-test", config.DevCacheToken, config.DevWebhookSecret},
		},
		"playground switched off": {
			map[string]string{"GRAPHQL_PLAYGROUND": "off"}, playground, http.StatusNotFound, nil, nil,
		},
		"front page in development": {
			nil, front, http.StatusOK,
			[]string{
				config.DevCacheToken,
				config.DevWebhookSecret,
				config.DevAdminToken,
				`href="/playground" >`,
			},
			[]string{"{{"},
		},
		"front page in production, switched on": {
			inProduction("FRONT_PAGE"), front, http.StatusOK,
			[]string{"CACHE_API_TOKEN", `href="/playground" hidden>`},
			[]string{"secret-of-this-test", "dev-"},
		},
		"front page in production": {inProduction(), front, http.StatusNotFound, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apptest.Start(t, c.env)
			for _, path := range c.paths {
				if r := s.Do(http.MethodGet, path, ""); r.Status != c.status {
					t.Errorf("%s: status %d, want %d", path, r.Status, c.status)
				}
			}

			text := string(s.Do(http.MethodGet, c.paths[0], "").Body)
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

// A browser that opens the GraphQL endpoint gets the playground; a query is answered,
// whatever the browser accepts.
func TestGraphQLOpenedInABrowser(t *testing.T) {
	t.Parallel()
	const browser, query = "text/html,application/xhtml+xml,*/*;q=0.8", "/graphql?query=%7B__typename%7D"
	open, closed := apptest.Start(t, nil), apptest.Start(t, map[string]string{"GRAPHQL_PLAYGROUND": "off"})

	for _, c := range []struct {
		service      *apptest.Service
		path, accept string
		page         bool
	}{
		{open, "/graphql", browser, true},
		{open, query, browser, false},
		{open, "/graphql", "*/*", false},
		{closed, "/graphql", browser, false},
	} {
		r := c.service.Do(http.MethodGet, c.path, "", "Accept: "+c.accept) // follows the redirect
		if strings.Contains(string(r.Body), "siteapi playground") != c.page {
			t.Errorf("%s with Accept: %s: status %d, %s", c.path, c.accept, r.Status, r.Body)
		}
	}
}

// The inbox finds its translation of what an erasure leaves by the English text.
func TestWhatAnErasureLeavesIsTranslated(t *testing.T) {
	t.Parallel()
	words, err := os.ReadFile("internal/pages/inbox/words/en.ts")
	if err != nil {
		t.Fatal(err)
	}

	address := &url.URL{Scheme: "memory"}
	for _, copies := range command.OutOfReach(&config.Settings{
		LeadWebhookURL: "https://example.com",
		CMSDriver:      "sanity",
		DatabaseURL:    address,
		CacheURL:       address,
		SMTPURL:        address,
	}) {
		if !strings.Contains(string(words), strconv.Quote(copies)+":") {
			t.Errorf("pages/inbox/words has no text for %q", copies)
		}
	}
}
