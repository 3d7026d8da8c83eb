package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/cmd/siteapi/internal/mcp"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/resolvers"
	"siteapi/resolvers/content"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/graphqlhttp"
	"siteapi/rest"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
)

// newServer builds the executor of operations, the endpoints on top of it, and the server that
// they stand behind.
func newServer(
	s *config.Settings, log zerolog.Logger, metrics *telemetry.Metrics, traces *telemetry.Traces,
	sys *systems, limits *httpserver.RateLimits, inFlight *httpserver.InFlight,
	site *content.Service, resolver *resolvers.Resolver,
) (*httpserver.Server, error) {
	own, err := operations.All()
	if err != nil {
		return nil, err
	}
	clients, operators, err := newDocuments(s)
	if err != nil {
		return nil, fmt.Errorf("GRAPHQL_DOCUMENTS: %w", err)
	}

	runs := executor.New(executor.Options{
		Resolvers:     resolver,
		Secrets:       secrets(s),
		Log:           log,
		Now:           time.Now,
		Count:         resolver.Count,
		ContentSize:   site.Size,
		Documents:     clients,
		Operations:    own,
		Charge:        limits.Charge,
		ChargeAnswer:  limits.ChargeAnswer,
		EnterDatabase: inFlight.EnterDatabase,
	})
	if traces != nil {
		runs.AroundOperations(telemetry.Operation)
	}

	api, err := rest.New(own, runs, Version())
	if err != nil {
		return nil, err
	}
	pages, err := newPages(s)
	if err != nil {
		return nil, err
	}
	public, inboxGraphQL := newGraphQL(s, site, inFlight, runs, clients, operators)

	return httpserver.New(httpserver.Options{
		GraphQL:      public,
		InboxGraphQL: inboxGraphQL,
		REST:         api,
		MCP:          newMCP(s, own, runs),
		Pages:        pages,
		Dependencies: newDependencies(sys),
		InFlight:     inFlight,
		RateLimits:   limits,
		SignIn:       newSignIn(s, log, metrics, inFlight, sys),
		Settings:     s,
		Trace:        traces.Handler,
		Metrics:      metrics.Registry,
		Log:          log,
	}), nil
}

// secrets returns the tokens that guarded fields accept.
func secrets(s *config.Settings) executor.Secrets {
	return executor.Secrets{
		Cache:   s.CacheTokens,
		Webhook: s.WebhookSecrets,
		Admin:   s.AdminTokens,
		Signing: s.SigningSecrets,
	}
}

// newDocuments returns the documents that clients may send, and those that operators may
// send within a session of the inbox, where any document is allowed.
func newDocuments(s *config.Settings) (clients, operators *graphqlhttp.Documents, err error) {
	o := graphqlhttp.DocumentOptions{
		Schema:        exec.AST(),
		Introspection: s.Introspection,
	}
	if s.OperationsPath != "" {
		if o.Trusted, err = graphqlhttp.ReadTrusted(s.OperationsPath); err != nil {
			return nil, nil, err
		}
	}

	if operators, err = graphqlhttp.NewDocuments(o); err != nil {
		return nil, nil, err
	}

	o.TrustedOnly = s.Operations == "trusted"
	clients, err = graphqlhttp.NewDocuments(o)
	return clients, operators, err
}

// newGraphQL returns the public GraphQL endpoint, and that of the inbox's page.
func newGraphQL(
	s *config.Settings, site *content.Service, inFlight *httpserver.InFlight,
	runs *executor.Executor, clients, operators *graphqlhttp.Documents,
) (public, ofInbox *graphqlhttp.Handler) {
	o := graphqlhttp.Options{
		Executor:    runs,
		Documents:   operators,
		Revision:    site.Revision,
		Load:        site.Load,
		BeginStream: inFlight.BeginStream,
	}
	ofInbox = graphqlhttp.New(o)

	o.Documents = clients
	o.ContentKey, o.CDNMaxAge = content.Key, s.CDNMaxAge
	return graphqlhttp.New(o), ofInbox
}

// newMCP returns the endpoint for assistants, or nil if there is none.
func newMCP(s *config.Settings, own []*operations.Operation, runs *executor.Executor) http.Handler {
	if !s.MCP {
		return nil
	}
	return mcp.NewHandler(mcp.Options{
		Operations: own,
		Executor:   runs,
		Operator:   runs.Operator,
		Version:    Version(),
		SiteURL:    s.SiteURL,
		Challenge:  s.TurnstileKey != "",
	})
}

// newDependencies returns what the service depends on, for its readiness.
func newDependencies(sys *systems) []*httpserver.Dependency {
	return []*httpserver.Dependency{
		{
			Name:     "database",
			Required: true,
			Ping:     sys.data.Quotes.Ping,
			Interval: time.Second,
		},
		{Name: "cache", Ping: sys.cache.Ping, Interval: time.Second},

		// The APIs of the CMS and the CRM may have quotas.
		{Name: "cms", Ping: sys.cms.Ping, Interval: time.Minute},
		{Name: "crm", Ping: sys.crm.Ping, Interval: time.Minute},
	}
}

// newSignIn returns how operators sign in with their accounts, or nil without OIDC_ISSUER.
func newSignIn(
	s *config.Settings, log zerolog.Logger, metrics *telemetry.Metrics,
	inFlight *httpserver.InFlight, sys *systems,
) *inbox.SignIn {
	if s.OIDCIssuer == "" {
		return nil
	}
	return &inbox.SignIn{
		Issuer:       s.OIDCIssuer,
		ClientID:     s.OIDCClientID,
		ClientSecret: s.OIDCClientSecret,
		RedirectURL:  s.OIDCRedirectURL,
		GroupsClaim:  s.OIDCGroupsClaim,
		Roles:        s.OIDCRoles,
		Logins:       sys.data.Tables,
		Now:          time.Now,
		Limit:        inFlight.EnterSignIn,

		// A login is counted, and logged where it was refused or a session ended.
		Report: func(ctx context.Context, outcome string, err error) {
			metrics.Event("login", outcome)
			if err != nil {
				log.Warn().Ctx(ctx).Str("outcome", outcome).Err(err).Msg("login")
			}
		},
	}
}
