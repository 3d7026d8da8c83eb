package main

import (
	"crypto/rand"
	"net/http"
	"slices"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema/playground"
)

// playgroundPath is where the playground is.
const playgroundPath = "/playground"

// newPlayground makes the page at which the GraphQL API is tried out. Of tokens it shows
// only those that development brings along; any other stays a placeholder.
func newPlayground(s *config.Settings) (http.Handler, error) {
	return playground.New(playground.Options{
		Path: playgroundPath, GraphQLPath: graphqlPath, Introspection: s.Introspection,
		CacheToken:   shown(s.CacheTokens, config.DevCacheToken, "<CACHE_API_TOKEN>"),
		WebhookToken: shown(s.WebhookSecrets, config.DevWebhookSecret, "<CMS_WEBHOOK_SECRET>"),
		Random:       rand.Text, Refuse: refuse,
	})
}

// shown returns a well-known token where it is accepted, else what stands for one.
func shown(accepted []string, wellKnown, placeholder string) string {
	if slices.Contains(accepted, wellKnown) {
		return wellKnown
	}
	return placeholder
}
