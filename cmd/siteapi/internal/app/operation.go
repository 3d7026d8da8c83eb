package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"time"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/lead"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/resolvers"
	"siteapi/resolvers/content"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/funnel"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/operators"
	"siteapi/resolvers/quotes"
	documents "siteapi/schema/operations"
)

// openExecutor opens only the systems that an operation needs. It returns an executor
// with the resolvers of the service.
func (d drivers) openExecutor(
	ctx context.Context, c command.Drivers, s *config.Settings, service command.Service,
	op *documents.Operation,
) (_ documents.Executor, closing func() error, err error) {
	resolver := &resolvers.Resolver{
		Log:     d.log,
		Version: Version(),
		Count:   d.Metrics.Event,
		Checks:  c.Checks,
		Cache:   memory.New(),
	}
	size := func() int { return 0 }

	needs := command.NeedsOf(op)
	if needs.System == command.OnContent {
		site, err := d.openContent(s)
		if err != nil {
			return nil, nil, err
		}
		resolver.Content, size = site, site.Size
		resolver.Quotes = quotes.New(quotes.Deps{Content: site, Log: d.log, Now: time.Now})
		closing = func() error { return site.Close(ctx) }
	} else {
		// DatabaseIdle must run before this process opens the database. File drivers create
		// folders, so they are opened only if the database exists.
		idle := c.DatabaseIdle(s)
		data, err := c.OpenExisting(ctx, s)
		if err != nil {
			return nil, nil, err
		}

		// Commands queue mails to owners but do not write them, so they need no content and
		// no PDFs.
		sys := &systems{drivers: d, Settings: s, Data: data}
		leads := d.newLeads(s, data, sys.newMails(nil, nil))
		if needs.System == command.OnLeads {
			if err := openUpstreams(ctx, c, s, data, leads); err != nil {
				return nil, nil, errors.Join(err, data.Close())
			}
			leads.ClearPDFs = func(ctx context.Context) (int, error) {
				return clearPDFs(ctx, c, s, service, idle)
			}
		}

		resolver.Leads, resolver.Operators = leads, leads.Operators
		resolver.Funnel = &funnel.Resolver{Store: data.Store}
		closing = data.Close
	}

	return executor.New(executor.Options{
		Resolvers:   resolver,
		Log:         d.log,
		Now:         time.Now,
		ContentSize: size,
		Operations:  c.Operations,
	}), closing, nil
}

// newLeads returns the resolver of the leads in a database.
func (d drivers) newLeads(
	s *config.Settings, data *command.Database, mails *leadmail.Service,
) *leads.Resolver {
	return &leads.Resolver{
		Operators:  &operators.Resolver{Store: data.Store, Log: d.log, Now: time.Now},
		Store:      data.Store,
		Queue:      data.Queue,
		Mails:      mails,
		Log:        d.log,
		TimeZone:   s.TimeZone,
		Truncate:   data.Truncate,
		OutOfReach: command.OutOfReach(s),
	}
}

// openUpstreams opens the CMS and the CRM for the leads. It fails if the settings
// select other systems than those of the service that used the database last, since the
// command would search the wrong ones.
func openUpstreams(
	ctx context.Context, d command.Drivers, s *config.Settings, data *command.Database, own *leads.Resolver,
) error {
	if err := command.CheckSystems(ctx, data.Store, s); err != nil {
		return err
	}

	source, err := d.OpenCMS(s)
	if err != nil {
		return err
	}
	contacts, err := d.OpenCRM(s)
	if err != nil {
		return err
	}
	own.CMS, own.CRM, own.MailFiles = source, contacts, mailfile.Open(s.MailPath())
	return nil
}

// clearPDFs clears PDFs from the cache. A cache in memory is cleared by the running
// service; with an idle database, no service is running and no PDFs are cached.
func clearPDFs(
	ctx context.Context, d command.Drivers, s *config.Settings, service command.Service, idle bool,
) (int, error) {
	if s.CacheURL.Scheme != "memory" {
		shared, err := d.OpenCache(ctx, s)
		if err != nil {
			return 0, err
		}
		n, err := shared.Clear(ctx, lead.PDFKeys+"*")
		return n, errors.Join(err, shared.Close())
	}

	i := slices.IndexFunc(d.Operations, func(op *documents.Operation) bool {
		return op.Root.Name == "clearCache"
	})
	answer, problem := service.Run(ctx, d.Operations[i], map[string]any{"pattern": lead.PDFKeys + "*"})
	if problem != nil {
		if _, dialing := errors.AsType[*net.OpError](problem.Err); dialing && idle {
			return 0, nil
		}
		return 0, fmt.Errorf("%s PDFs stay cached in a running service for an hour: "+
			"add --server, or restart the service", problem.Message)
	}

	var cleared struct{ Cleared int }
	err := json.Unmarshal(answer, &cleared)
	return cleared.Cleared, err
}

// openContent opens the CMS for the public fields. Its content is not cached between
// commands.
func (d drivers) openContent(s *config.Settings) (*content.Service, error) {
	source, err := d.openCMS(s)
	if err != nil {
		return nil, err
	}
	return content.New(content.Options{
		CMS:         source,
		Cache:       memory.New(),
		Log:         d.log,
		Now:         time.Now,
		Source:      contentSource(s),
		Types:       s.ContentTypes,
		Life:        cache.Lifetime{Fresh: s.ContentTTL},
		FallbackDir: filepath.Join(s.DataDir, "content"),
	}), nil
}
