package main

import (
	"net/http"
	"slices"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/schema/page"
	"siteapi/schema/playground"
)

// newInbox returns the page of operators with its session and its endpoint.
func newInbox(s *config.Settings, graphQL http.Handler) (http.Handler, error) {
	built, err := page.New(page.Options{Path: inbox.Path, Files: page.Files("inbox"), Refuse: httpserver.WriteError})
	if err != nil {
		return nil, err
	}
	return inbox.New(inbox.Options{
		Tokens: s.AdminTokens, GraphQL: graphQL, Page: built, Now: time.Now, Refuse: httpserver.WriteError,
	}), nil
}

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
