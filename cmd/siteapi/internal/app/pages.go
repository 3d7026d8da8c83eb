package app

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/cmd/siteapi/internal/pages"
	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/request"
)

// newPages returns the handlers of the pages by path. Pages contain the well-known
// development tokens. In place of another token they contain the name of its setting, or
// nothing if it is a preview token.
func (a *App) newPages() (map[string]http.Handler, error) {
	s := a.settings
	signIn := len(s.AdminTokens) > 0 || s.OIDCIssuer != ""
	address := inboxURL(s)
	values := map[string]string{
		"version":       Version(),
		"environment":   s.Environment,
		"graphql-path":  httpserver.GraphQLPath,
		"introspection": either(s.Introspection, "on", "off"),
		"cache-token":   cmp.Or(shownToken(s, "CACHE_API_TOKEN", config.DevCacheToken), "<CACHE_API_TOKEN>"),
		"webhook-token": cmp.Or(
			shownToken(s, "CMS_WEBHOOK_SECRET", config.DevWebhookSecret), "<CMS_WEBHOOK_SECRET>"),
		"admin-token": cmp.Or(shownToken(s, "ADMIN_API_TOKEN", config.DevAdminToken), "<ADMIN_API_TOKEN>"),
		"playground":  either(s.Playground, "", "hidden"),
		"inbox":       either(address != "", "", "hidden"),
		"inbox-url":   address,
		"mails":       either(s.MailDriver() == "file", "", "hidden"),
		"mail-folder": s.MailPath(),
		"inbox-open":  either(signIn, "yes", "no"),
		"time-zone":   s.TimeZone.String(),
		"sign-in":     either(s.OIDCIssuer != "", "account", "token"),
	}

	all := []pages.Options{{Path: inbox.Path, Files: pages.Files("inbox")}}
	if s.Playground {
		all = append(all, pages.Playground())
	}
	if s.FrontPage {
		all = append(all,
			pages.Options{Path: "/", Files: pages.Files("front")},
			pages.Options{
				Path:   "/calculator",
				Files:  pages.Files("calculator"),
				Phones: a.phones,
			},
			pages.Options{Path: "/docs", Files: pages.Files("docs")},
		)
	}

	handlers, err := pages.Element(s.VisitorMail && s.MailDriver() != "",
		shownToken(s, "PREVIEW_TOKENS", config.DevPreviewToken))
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		o.Values = values
		handler, err := pages.New(o)
		if err != nil {
			return nil, err
		}
		handlers[o.Path] = handler
	}
	if s.FrontPage {
		handlers["/docs/schema.graphql"] = http.HandlerFunc(serveSDL)
	}
	return handlers, nil
}

// either returns one of two strings.
func either(first bool, one, other string) string {
	if first {
		return one
	}
	return other
}

// phones returns the telephone numbers of the site, for visitors without JavaScript.
func (a *App) phones(ctx context.Context) string {
	snap, err := a.content.ReadAs(ctx, "", schema.DefaultLocale)
	if err != nil || snap.Settings == nil {
		return ""
	}

	site := snap.Settings.Shown
	if len(site.ContactPhones) == 0 && site.ContactPhone != nil {
		return *site.ContactPhone
	}
	var numbers []string
	for _, phone := range site.ContactPhones {
		if slices.Contains(phone.DisplayLocation, "contact") {
			numbers = append(numbers, phone.Number)
		}
	}
	return strings.Join(numbers, ", ")
}

// serveSDL serves the schema for code generators and other tools.
func serveSDL(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	request.WriteBody(w, r, http.StatusOK, []byte(exec.SDL()))
}

// shownToken returns the well-known development token if it is in use because the setting
// is not set, else an empty string.
func shownToken(s *config.Settings, setting, wellKnown string) string {
	if s.Environment == config.Development && !s.Given(setting) {
		return wellKnown
	}
	return ""
}

// inboxURL returns the address of the inbox: a path of the public address, or in
// development an address on this machine. It is empty if neither serves the inbox.
func inboxURL(s *config.Settings) string {
	_, port, err := net.SplitHostPort(s.AdminAddr)
	switch {
	case len(s.AdminTokens) == 0 && s.OIDCIssuer == "":
		return ""
	case s.AdminPage:
		return inbox.Path
	case err != nil, port == "0", s.Environment != config.Development:
		return ""
	}
	return "http://localhost:" + port + inbox.Path
}
