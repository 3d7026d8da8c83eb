package main

import (
	"net"
	"net/http"
	"slices"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/schema/page"
	"siteapi/schema/playground"
)

// newPages returns the pages by their paths. Of tokens they show those of development; any other stays the setting's name.
func newPages(s *config.Settings) (map[string]http.Handler, error) {
	hidden, address := map[bool]string{false: "hidden"}, inboxURL(s)
	values := map[string]string{
		"version":       versionText(),
		"environment":   s.Environment,
		"graphql-path":  httpserver.GraphQLPath,
		"introspection": map[bool]string{true: "on", false: "off"}[s.Introspection],
		"cache-token":   shownToken(s.CacheTokens, config.DevCacheToken, "<CACHE_API_TOKEN>"),
		"webhook-token": shownToken(s.WebhookSecrets, config.DevWebhookSecret, "<CMS_WEBHOOK_SECRET>"),
		"admin-token":   shownToken(s.AdminTokens, config.DevAdminToken, "<ADMIN_API_TOKEN>"),
		"playground":    hidden[s.Playground],
		"inbox":         hidden[address != ""],
		"inbox-url":     address,
	}
	all := []page.Options{{Path: inbox.Path, Files: page.Files("inbox")}}
	if s.Playground {
		all = append(all, playground.Page())
	}
	if s.FrontPage {
		all = append(all, page.Options{Path: "/", Files: page.Files("front")},
			page.Options{Path: "/calculator", Files: page.Files("calculator"), ImageHosts: s.LogoHosts},
			// Its components position by style attributes.
			page.Options{Path: "/docs", Files: page.Files("docs"), Policy: "style-src-attr 'unsafe-inline'"})
	}
	pages := map[string]http.Handler{}
	for _, o := range all {
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
