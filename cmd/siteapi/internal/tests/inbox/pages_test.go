package inbox

import (
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/resolvers/leads"
)

// The pages show the development tokens where these are in use, and no other tokens.
func TestPages(t *testing.T) {
	t.Parallel()
	inProduction := func(more ...string) []string {
		return append([]string{
			"ENVIRONMENT=production",
			"CACHE_API_TOKEN=cache-secret-of-this-test",
			"CMS_WEBHOOK_SECRET=webhook-secret-of-this-test",
			"CONTENT_TYPES=heroSection,quoteOption",
		}, more...)
	}

	dev := []string{config.DevCacheToken, config.DevWebhookSecret}
	own := []string{"CACHE_API_TOKEN=cache-secret-of-this-test"}
	off := []string{"GRAPHQL_PLAYGROUND=off"}
	for name, c := range map[string]struct {
		path          string
		env           []string
		status        int
		with, without []string
	}{
		"playground in development":             {"/playground", nil, 200, dev, nil},
		"playground with own tokens":            {"/playground", own, 200, dev[1:], []string{config.DevCacheToken}},
		"playground switched off":               {"/playground", off, 404, nil, nil},
		"playground in production":              {"/playground", inProduction(), 404, nil, nil},
		"playground in production, switched on": {"/playground", inProduction("GRAPHQL_PLAYGROUND=on"), 200, nil, dev},
		"front page in development":             {"/", nil, 200, append(dev, config.DevAdminToken), []string{"{{"}},
		"front page in production":              {"/", inProduction(), 404, nil, nil},
		"front page in production, switched on": {"/", inProduction("FRONT_PAGE=on"), 200, nil, []string{"dev-"}},
		"calculator in production":              {"/calculator", inProduction(), 404, nil, nil},
		"calculator":                            {"/calculator", nil, 200, nil, nil},
		"API reference":                         {"/docs", nil, 200, nil, nil},
		"schema":                                {"/docs/schema.graphql", nil, 200, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := apptest.Start(t, c.env...).Do("GET", c.path, "")
			text := string(r.Body)
			for _, want := range c.with {
				if !strings.Contains(text, want) {
					t.Errorf("the page lacks %s", want)
				}
			}
			for _, bad := range append(c.without, "secret-of-this-test") {
				if r.Status != c.status || strings.Contains(text, bad) {
					t.Errorf("status %d, or the page contains %s", r.Status, bad)
				}
			}
		})
	}
}

// A browser that opens the GraphQL endpoint gets the playground. A query is answered,
// whatever the browser accepts.
func TestGraphQLOpenedInABrowser(t *testing.T) {
	t.Parallel()
	const browser, query = "text/html,application/xhtml+xml,*/*;q=0.8", "/graphql?query=%7B__typename%7D"
	open, closed := apptest.Start(t), apptest.Start(t, "GRAPHQL_PLAYGROUND=off")

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
		r := c.service.Do("GET", c.path, "", "Accept: "+c.accept) // follows the redirect
		if r.Has("siteapi playground") != c.page {
			t.Errorf("%s with Accept: %s: status %s", c.path, c.accept, r)
		}
	}
}

// The inbox looks up translations by the English text. It has one for each kind of copy
// that an erasure cannot reach.
func TestCopiesOutOfReachAreTranslated(t *testing.T) {
	t.Parallel()
	words := apptest.File(t, "cmd/siteapi/internal/pages/inbox/words/en.ts")

	address := &url.URL{Scheme: "memory"}
	settings := config.Settings{
		DataDir:        t.TempDir(),
		LeadWebhookURL: "https://example.com",
		CMSDriver:      "sanity",
		CRMDriver:      "hubspot",
		DatabaseURL:    address,
		CacheURL:       address,
		SMTPURL:        address,
		LeadRetention:  time.Hour,
	}
	must(t, os.WriteFile(systems.DatabasePath(&settings), nil, 0o600))
	withDeals := settings
	withDeals.HubSpotStage = "default/appointmentscheduled"
	for _, copies := range slices.Concat(leads.Kept(),
		systems.Opener{Settings: &settings}.OutOfReach(), systems.Opener{Settings: &withDeals}.OutOfReach(),
	) {
		if !strings.Contains(words, strconv.Quote(copies)+":") {
			t.Errorf("pages/inbox/words has no text for %q", copies)
		}
	}
}
