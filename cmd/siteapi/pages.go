package main

import (
	"net"
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
	return inbox.New(inbox.Options{Tokens: s.AdminTokens, GraphQL: graphQL, Page: built, Now: time.Now}), nil
}

// newPages returns the pages by their paths. Of tokens they show those of development; any other stays the setting's name.
func newPages(s *config.Settings) (map[string]http.Handler, error) {
	cacheToken := shownToken(s.CacheTokens, config.DevCacheToken, "<CACHE_API_TOKEN>")
	webhookToken := shownToken(s.WebhookSecrets, config.DevWebhookSecret, "<CMS_WEBHOOK_SECRET>")
	pages := map[string]http.Handler{}
	if s.Playground {
		handler, err := playground.New(playground.Options{
			GraphQLPath: httpserver.GraphQLPath, Introspection: s.Introspection,
			CacheToken: cacheToken, WebhookToken: webhookToken, Refuse: httpserver.WriteError,
		})
		if err != nil {
			return nil, err
		}
		pages[playground.Path] = handler
	}
	if !s.FrontPage {
		return pages, nil
	}
	hidden, address := map[bool]string{false: "hidden"}, inboxURL(s)
	values := map[string]string{
		"version": versionText(), "environment": s.Environment, "cache-token": cacheToken, "webhook-token": webhookToken,
		"admin-token": shownToken(s.AdminTokens, config.DevAdminToken, "<ADMIN_API_TOKEN>"),
		"playground":  hidden[s.Playground], "inbox": hidden[address != ""], "inbox-url": address,
	}
	for _, o := range []page.Options{
		{Path: "/", Files: page.Files("front")},
		{Path: "/calculator", Files: page.Files("calculator"), ImageHosts: s.LogoHosts},
		// Its components position by style attributes.
		{Path: "/docs", Files: page.Files("docs"), Policy: "style-src-attr 'unsafe-inline'"},
	} {
		o.Values, o.Refuse = values, httpserver.WriteError
		handler, err := page.New(o)
		if err != nil {
			return nil, err
		}
		pages[o.Path] = handler
	}
	return pages, nil
}

// shownToken returns a token that a page may show: that of development. Any other stays a placeholder.
func shownToken(accepted []string, wellKnown, placeholder string) string {
	if slices.Contains(accepted, wellKnown) {
		return wellKnown
	}
	return placeholder
}

// inboxURL returns the address of the operators' inbox: the service's own, in development that of the machine it
// runs on, or nothing.
func inboxURL(s *config.Settings) string {
	_, port, err := net.SplitHostPort(s.AdminAddr)
	switch {
	case len(s.AdminTokens) == 0:
		return ""
	case s.AdminPage:
		return inbox.Path
	case err != nil, port == "0", s.Environment != config.Development:
		return ""
	}
	return "http://localhost:" + port + inbox.Path
}
