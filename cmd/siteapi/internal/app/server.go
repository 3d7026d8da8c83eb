package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

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

// newServer builds the executor, the endpoints that run operations with it, and the HTTP
// server.
func (sys *systems) newServer(
	traces *telemetry.Traces, limits *httpserver.RateLimits, inFlight *httpserver.InFlight,
	site *content.Service, resolver *resolvers.Resolver,
) (*httpserver.Server, error) {
	own, err := operations.All()
	if err != nil {
		return nil, err
	}
	clients, operators, err := newDocuments(sys.Settings)
	if err != nil {
		return nil, fmt.Errorf("GRAPHQL_DOCUMENTS: %w", err)
	}

	runs := executor.New(executor.Options{
		Resolvers: resolver,
		Secrets: executor.Secrets{
			Cache:   sys.CacheTokens,
			Webhook: sys.WebhookSecrets,
			Admin:   sys.AdminTokens,
			Signing: sys.SigningSecrets,
		},
		Log:            sys.log,
		Now:            time.Now,
		Count:          resolver.Count,
		ContentSize:    site.Size,
		Documents:      clients,
		Operations:     own,
		Charge:         limits.Charge,
		ChargeResponse: limits.ChargeResponse,
		EnterDatabase:  inFlight.EnterDatabase,
	})
	if traces != nil {
		runs.AroundOperations(telemetry.Operation)
	}

	api, err := rest.New(own, runs, Version())
	if err != nil {
		return nil, err
	}
	pages, err := newPages(sys.Settings)
	if err != nil {
		return nil, err
	}
	public, inboxGraphQL := newGraphQL(sys.CDNMaxAge, site, inFlight, runs, clients, operators)

	return httpserver.New(httpserver.Options{
		GraphQL:      public,
		InboxGraphQL: inboxGraphQL,
		REST:         api,
		MCP:          sys.newMCP(own, runs),
		Pages:        pages,
		Dependencies: sys.newDependencies(),
		InFlight:     inFlight,
		RateLimits:   limits,
		SignIn:       sys.newSignIn(inFlight),
		Settings:     sys.Settings,
		Trace:        traces.Handler,
		Metrics:      sys.Metrics.Registry,
		Log:          sys.log,
	}), nil
}

// newDocuments returns the documents that clients may send, and those of operators who
// are logged in to the inbox. Operators may send any document.
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

// newGraphQL returns the GraphQL endpoints of the public and of the inbox.
func newGraphQL(
	cdnMaxAge time.Duration, site *content.Service, inFlight *httpserver.InFlight,
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
	o.ContentKey, o.CDNMaxAge = content.Key, cdnMaxAge
	return graphqlhttp.New(o), ofInbox
}

// newMCP returns the MCP endpoint for assistants, or nil with MCP=off.
func (sys *systems) newMCP(own []*operations.Operation, runs *executor.Executor) http.Handler {
	if !sys.MCP {
		return nil
	}
	return mcp.NewHandler(mcp.Options{
		Operations: own,
		Executor:   runs,
		Operator:   runs.Operator,
		Version:    Version(),
		TimeZone:   sys.TimeZone,
		SiteURL:    sys.SiteURL,
		Challenge:  sys.TurnstileKey != "",
	})
}

// newDependencies returns the systems that readiness checks ping.
func (sys *systems) newDependencies() []*httpserver.Dependency {
	return []*httpserver.Dependency{
		{
			Name:     "database",
			Required: true,
			Ping:     sys.Data.Store.Ping,
			Interval: time.Second,
		},
		{Name: "cache", Ping: sys.cache.Ping, Interval: time.Second},

		// The APIs of the CMS and the CRM may have quotas.
		{Name: "cms", Ping: sys.cms.Ping, Interval: time.Minute},
		{Name: "crm", Ping: sys.crm.Ping, Interval: time.Minute},
	}
}

// newSignIn returns the handler of single sign-on, or nil without OIDC_ISSUER.
func (sys *systems) newSignIn(inFlight *httpserver.InFlight) *inbox.SignIn {
	if sys.OIDCIssuer == "" {
		return nil
	}
	return &inbox.SignIn{
		Issuer:       sys.OIDCIssuer,
		ClientID:     sys.OIDCClientID,
		ClientSecret: sys.OIDCClientSecret,
		RedirectURL:  sys.OIDCRedirectURL,
		GroupsClaim:  sys.OIDCGroupsClaim,
		Roles:        sys.OIDCRoles,
		Logins:       sys.Data.Store,
		Now:          time.Now,
		Limit:        inFlight.EnterSignIn,
		Done:         inFlight.LeaveSignIn,

		// Every login is counted. Failed and ended ones are logged.
		Report: func(ctx context.Context, outcome string, err error) {
			sys.Metrics.Event("login", outcome)
			if err != nil {
				sys.log.Warn().Ctx(ctx).Str("outcome", outcome).Err(err).Msg("login failed or ended")
			}
		},
	}
}
