package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"siteapi/cmd/siteapi/internal/export"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/cmd/siteapi/internal/mcp"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/resolvers"
	"siteapi/resolvers/content"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/graphqlhttp"
	"siteapi/rest"
	"siteapi/schema"
	"siteapi/schema/operations"
)

// newServer builds the executor, the endpoints that run operations with it, and the HTTP
// server.
func (a *App) newServer(resolver *resolvers.Resolver) (*httpserver.Server, error) {
	own, err := operations.All()
	if err != nil {
		return nil, err
	}
	clients, operators, err := systems.Documents(a.settings)
	if err != nil {
		return nil, fmt.Errorf("GRAPHQL_DOCUMENTS: %w", err)
	}

	options := executor.Options{
		Resolvers: resolver.Root(),
		Secrets: executor.Secrets{
			Cache:   a.settings.CacheTokens,
			Webhook: a.settings.WebhookSecrets,
			Admin:   a.settings.AdminTokens,
			Signing: a.settings.SigningSecrets,
		},
		Log:           a.log,
		RecordWebhook: resolver.Webhooks.Record,
		ContentSize:   a.content.Size,
		Documents:     clients,
		Operations:    own,
		Charge:        a.limits.Charge,
		ChargeMore:    a.limits.ChargeMore,
		EnterDatabase: a.inFlight.EnterDatabase,
	}
	runs := executor.New(options)
	options.ChargeMore = nil // a workbook is one request, however many pages it has
	exports := executor.New(options)
	if a.traces != nil {
		runs.AroundOperations(telemetry.Operation)
		exports.AroundOperations(telemetry.Operation)
	}

	api, err := rest.New(own, runs, Version())
	if err != nil {
		return nil, err
	}
	pages, err := a.newPages()
	if err != nil {
		return nil, err
	}
	public, inboxGraphQL := a.newGraphQL(runs, clients, operators)

	return httpserver.New(httpserver.Options{
		GraphQL:      public,
		InboxGraphQL: inboxGraphQL,
		Workbook:     export.Handler(named(own, "ExportLeads"), exports, a.settings.TimeZone),
		REST:         api,
		MCP:          a.newMCP(own, runs),
		Pages:        pages,
		Dependencies: a.newDependencies(),
		InFlight:     a.inFlight,
		RateLimits:   a.limits,
		SignIn:       a.newSignIn(),
		Settings:     a.settings,
		Trace:        a.traces.Handler,
		Metrics:      a.Metrics.Registry,
		Log:          a.log,
	}), nil
}

// named returns the operation of a name.
func named(own []*operations.Operation, name string) *operations.Operation {
	return own[slices.IndexFunc(own, func(op *operations.Operation) bool { return op.Name == name })]
}

// newGraphQL returns the GraphQL endpoints of the public and of the inbox.
func (a *App) newGraphQL(
	runs *executor.Executor, clients, operators *graphqlhttp.Documents,
) (public, ofInbox *graphqlhttp.Handler) {
	o := graphqlhttp.Options{
		Executor:    runs,
		Documents:   operators,
		Revision:    a.content.Revision,
		Load:        a.content.Load,
		BeginStream: a.inFlight.BeginStream,
	}
	ofInbox = graphqlhttp.New(o)

	o.Documents = clients
	o.ContentKey, o.CDNMaxAge = content.Key, a.settings.CDNMaxAge
	return graphqlhttp.New(o), ofInbox
}

// newMCP returns the MCP endpoint for assistants, or nil with MCP=off.
func (a *App) newMCP(own []*operations.Operation, runs *executor.Executor) http.Handler {
	if !a.settings.MCP {
		return nil
	}
	return mcp.NewHandler(mcp.Options{
		Operations: own,
		Executor:   runs,
		Operator:   runs.Operator,
		Version:    Version(),
		Settings:   a.settings,
	})
}

// newDependencies returns the systems that readiness checks ping.
func (a *App) newDependencies() []*httpserver.Dependency {
	return []*httpserver.Dependency{
		{
			Name:     "database",
			Required: true,
			Ping:     a.Data.Store.Ping,
			Interval: time.Second,
		},
		{Name: "cache", Ping: a.cache.Ping, Interval: time.Second},

		// The APIs of the CMS and the CRM may have quotas.
		{Name: "cms", Ping: a.cms.Ping, Interval: time.Minute},
		{Name: "crm", Ping: a.crm.Ping, Interval: time.Minute},
	}
}

// newSignIn returns the handler of single sign-on, or nil without OIDC_ISSUER.
func (a *App) newSignIn() *inbox.SignIn {
	if a.settings.OIDCIssuer == "" {
		return nil
	}
	return inbox.NewSignIn(inbox.SignIn{
		Settings: a.settings,
		Logins:   a.Data.Store,
		Limit:    a.inFlight.EnterSignIn,
		Done:     a.inFlight.LeaveSignIn,
		LimitGrant: func(ctx context.Context) *schema.Error {
			if refused := a.limits.ChargeGrant(ctx); refused != nil || a.limits == nil {
				return refused
			}
			return a.inFlight.EnterGrant(ctx)
		},

		// Every login is counted. Failed and ended ones are logged.
		Report: func(ctx context.Context, outcome string, err error) {
			a.Metrics.Event("login", outcome)
			if err != nil {
				a.log.Warn().Ctx(ctx).Str("outcome", outcome).Err(err).Msg("login failed or ended")
			}
		},
	})
}
