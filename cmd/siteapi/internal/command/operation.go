package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/lead"
	"siteapi/resolvers"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/funnel"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/quotes"
	"siteapi/schema/operations"
)

// databaseSettings are the settings that locate the database.
func databaseSettings() []string { return []string{"ENVIRONMENT", "DATA_DIR", "DATABASE_URL"} }

// settingsOf returns the settings that must be valid for operations.
func settingsOf(ops ...*operations.Operation) []string {
	list := []string{"ENVIRONMENT", "TIME_ZONE"}
	for system, settings := range map[resolvers.System][]string{
		resolvers.Content:  {"DATA_DIR", "CMS_DRIVER", "CONTENT_TYPES", "CONTENT_TTL"},
		resolvers.Database: databaseSettings(),
		resolvers.Owners:   {"ADMIN_TOKENS"},
		resolvers.Copies:   {"CMS_DRIVER", "CRM_DRIVER"},
		resolvers.PDFs:     {"CACHE_URL", "CACHE_PREFIX", "LISTEN_ADDR"},
		resolvers.Health:   {"*"},
		resolvers.Service:  {"LISTEN_ADDR"},
	} {
		if uses(system, ops...) {
			list = append(list, settings...)
		}
	}
	return list
}

// uses reports whether one of the operations uses a system.
func uses(system resolvers.System, ops ...*operations.Operation) bool {
	return slices.ContainsFunc(ops, func(op *operations.Operation) bool {
		return slices.Contains(resolvers.Uses(op.Root.Name), system)
	})
}

// openExecutor opens only the systems that operations use, until the end of the call. It
// returns an executor with the resolvers of the service on them.
func (c *call) openExecutor(ctx context.Context, ops ...*operations.Operation) (operations.Executor, error) {
	root := &resolvers.Resolver{}
	size := func() int { return 0 }
	if uses(resolvers.Content, ops...) {
		if err := c.openContent(); err != nil {
			return nil, err
		}
		size = c.content.Size
		root.QuotesResolver = quotes.New(quotes.Deps{
			Content:  c.content,
			Log:      c.open.Log,
			Now:      time.Now,
			TimeZone: c.settings.TimeZone,
		})
	}

	if uses(resolvers.Database, ops...) {
		own, err := c.openLeads(ctx, uses(resolvers.Copies, ops...))
		if err != nil {
			return nil, err
		}
		root.LeadsResolver, root.OperatorsResolver = own, own.Operators
		root.FunnelResolver = &funnel.Resolver{Store: c.db.Store, TimeZone: c.settings.TimeZone}
	}

	root.SiteResolver = resolvers.SiteResolver{Site: c.content, Version: c.commands.version, Log: c.open.Log}
	if uses(resolvers.Health, ops...) {
		entries, _, err := c.open.Cache(ctx)
		if err != nil {
			return nil, err
		}
		c.cache, root.Cache, root.Checks = entries, entries, c.checks(ctx, "")
	}

	return executor.New(executor.Options{
		Resolvers:   root.Root(),
		Log:         c.open.Log,
		ContentSize: size,
		Operations:  c.commands.operations,
	}), nil
}

// openLeads opens the database and, if the operation uses the copies of leads, the CMS, the
// CRM and the cache. It then fails if the settings select other systems than those of the
// service that used the database last, since the command would search the wrong ones.
func (c *call) openLeads(ctx context.Context, copies bool) (*leads.Resolver, error) {
	// DatabaseIdle must run before this process opens the database. File drivers create
	// folders, so they are opened only if the database exists.
	idle := systems.DatabaseIdle(c.settings)
	if err := c.openDatabase(ctx); err != nil {
		return nil, err
	}

	// Commands queue mails to owners but do not write them, so they need no content and no
	// PDFs.
	r := leads.Resolver{Mails: c.open.Mails(leadmail.Service{Store: c.db.Store})}
	if !copies {
		return c.open.Leads(c.db, r), nil
	}
	if err := systems.CheckNote(ctx, c.db.Store, c.settings); err != nil {
		return nil, err
	}

	var err error
	if r.CMS, err = c.open.CMS(); err != nil {
		return nil, err
	}
	if r.CRM, err = c.open.CRM(); err != nil {
		return nil, err
	}
	r.ClearPDFs = func(ctx context.Context) (int, error) { return c.clearPDFs(ctx, idle) }
	return c.open.Leads(c.db, r), nil
}

// clearPDFs clears PDFs from the cache. A cache in memory is cleared by the running
// service; with an idle database, no service is running and no PDFs are cached.
func (c *call) clearPDFs(ctx context.Context, idle bool) (int, error) {
	if c.settings.CacheURL.Scheme != "memory" {
		shared, _, err := c.open.Cache(ctx)
		if err != nil {
			return 0, err
		}
		n, err := shared.Clear(ctx, lead.PDFKeys+"*")
		return n, errors.Join(err, shared.Close())
	}

	i := slices.IndexFunc(c.commands.operations, func(op *operations.Operation) bool {
		return op.Root.Name == "clearCache"
	})
	response, problem := c.service.Run(ctx, c.commands.operations[i],
		map[string]any{"pattern": lead.PDFKeys + "*"})
	if problem != nil {
		if _, dialing := errors.AsType[*net.OpError](problem.Err); dialing && idle {
			return 0, nil
		}
		return 0, fmt.Errorf("%s PDFs stay cached in a running service for an hour: "+
			"add --server, or restart the service", problem.Message)
	}

	var cleared struct{ Cleared int }
	err := json.Unmarshal(response, &cleared)
	return cleared.Cleared, err
}
