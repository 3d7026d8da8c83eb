package main

import (
	"net/http"
	"slices"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/schema/playground"
)

// newPages returns the pages by their paths. Of tokens they show only those of development; any other stays a placeholder.
func newPages(s *config.Settings) (map[string]http.Handler, error) {
	shown := func(accepted []string, wellKnown, placeholder string) string {
		if slices.Contains(accepted, wellKnown) {
			return wellKnown
		}
		return placeholder
	}
	pages := map[string]http.Handler{}
	if s.Playground {
		page, err := playground.New(playground.Options{
			GraphQLPath: httpserver.GraphQLPath, Introspection: s.Introspection,
			CacheToken:   shown(s.CacheTokens, config.DevCacheToken, "<CACHE_API_TOKEN>"),
			WebhookToken: shown(s.WebhookSecrets, config.DevWebhookSecret, "<CMS_WEBHOOK_SECRET>"),
			Refuse:       httpserver.WriteError,
		})
		if err != nil {
			return nil, err
		}
		pages[playground.Path] = page
	}
	return pages, nil
}
