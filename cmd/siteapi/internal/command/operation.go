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

// openExecutor opens only the systems that an operation needs, until the end of the call.
// It returns an executor with the resolvers of the service, completed from the given one.
func (c *call) openExecutor(
	ctx context.Context, op *operations.Operation, resolver *resolvers.Resolver,
) (operations.Executor, error) {
	resolver.Log, resolver.Version = c.open.Log, c.commands.version
	size := func() int { return 0 }

	uses, _ := needsOf(op)
	if uses == onContent {
		if err := c.openContent(); err != nil {
			return nil, err
		}
		resolver.Content, size = c.content, c.content.Size
		resolver.Quotes = quotes.New(quotes.Deps{Content: c.content, Log: c.open.Log, Now: time.Now})
	} else {
		// DatabaseIdle must run before this process opens the database. File drivers create
		// folders, so they are opened only if the database exists.
		idle := systems.DatabaseIdle(c.settings)
		if err := c.openDatabase(ctx); err != nil {
			return nil, err
		}

		// Commands queue mails to owners but do not write them, so they need no content and
		// no PDFs.
		mails, err := c.open.Mails(ctx, leadmail.Deps{Store: c.db.Store})
		if err != nil {
			return nil, err
		}
		own := c.open.Leads(c.db, mails)
		if uses == onLeads {
			if err := c.openUpstreams(ctx, own, idle); err != nil {
				return nil, err
			}
		}
		resolver.Leads, resolver.Operators = own, own.Operators
		resolver.Funnel = &funnel.Resolver{Store: c.db.Store}
	}

	return executor.New(executor.Options{
		Resolvers:   resolver,
		Log:         c.open.Log,
		Now:         time.Now,
		ContentSize: size,
		Operations:  c.commands.operations,
	}), nil
}

// openUpstreams opens the CMS, the CRM and the cache for the leads. It fails if the
// settings select other systems than those of the service that used the database last,
// since the command would search the wrong ones.
func (c *call) openUpstreams(ctx context.Context, own *leads.Resolver, idle bool) (err error) {
	if err := systems.CheckNote(ctx, c.db.Store, c.settings); err != nil {
		return err
	}

	own.ClearPDFs = func(ctx context.Context) (int, error) {
		return c.clearPDFs(ctx, idle)
	}
	if own.CMS, err = c.open.CMS(); err != nil {
		return err
	}
	own.CRM, err = c.open.CRM()
	return err
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
	response, problem := c.service.Run(ctx, c.commands.operations[i], map[string]any{"pattern": lead.PDFKeys + "*"})
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
