package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/resolvers"
	"siteapi/resolvers/content"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	documents "siteapi/schema/operations"
)

// ofContent reports whether an operation reads the content of the CMS, and not the database.
func ofContent(op *documents.Operation) bool {
	return slices.Contains([]string{"content", "SiteSettings"}, op.Root.Name)
}

// settingsOf lists the settings that the command of an operation needs, beside those of the
// database.
func settingsOf(op *documents.Operation) []string {
	if ofContent(op) {
		return []string{"CMS_DRIVER", "CMS_FILE", "SANITY_*", "CONTENT_TYPES", "CONTENT_TTL"}
	}
	return nil
}

// openOperation opens what the command of an operation needs, and returns the executor that
// runs it.
func openOperation(
	ctx context.Context, d command.Drivers, s *config.Settings, op *documents.Operation, log zerolog.Logger,
) (documents.Executor, func() error, error) {
	a := &App{settings: s, log: log, Metrics: telemetry.NewMetrics(Version())}
	a.resolver = &resolvers.Resolver{Log: log, Version: Version(), Count: a.Metrics.Event}
	size := func() int { return 0 }

	open := a.openLeads
	if ofContent(op) {
		open = a.openContent
	}
	if err := open(ctx, d); err != nil {
		return nil, nil, errors.Join(err, a.close())
	}
	if a.content != nil {
		size = a.content.Size
		a.closers = append(a.closers, func() error { return a.content.Close(ctx) })
	}

	return executor.New(executor.Options{
		Resolvers:   a.resolver,
		Log:         log,
		Now:         time.Now,
		ContentSize: size,
		Operations:  d.Operations,
	}), a.close, nil
}

// openLeads opens the database for the fields of operators. Nothing is sent from it.
func (a *App) openLeads(ctx context.Context, d command.Drivers) (err error) {
	if a.Data, err = d.OpenExisting(ctx, a.settings); err != nil {
		return err
	}
	a.closers = append(a.closers, a.Data.Close)

	a.Mails = leadmail.New(leadmail.Deps{
		Settings: mailSettings(a.settings, openMail(a.settings, a.Metrics)),
		Claims:   a.Data.Tables,
		Quotes:   a.Data.Quotes,
		Queue:    a.Data.Queue,
		Log:      a.log,
		Now:      time.Now,
	})
	a.resolver.Operators = a.newOperators(&leads.Service{
		Archive:    a.Data.Archive,
		Work:       a.Data.Tables,
		Deliveries: a.Data.Tables,
		Outcomes:   a.Data.Tables,
		Queue:      a.Data.Queue,
		Truncate:   a.Data.Truncate,
		OutOfReach: command.OutOfReach(a.settings),
	})
	a.resolver.Operators.Log = zerolog.Nop() // what is shown is in the audit
	return nil
}

// openContent opens the CMS for the fields of visitors. Its content is cached nowhere.
func (a *App) openContent(_ context.Context, _ command.Drivers) error {
	source, err := openCMS(a.settings, a.log, a.Metrics)
	if err != nil {
		return err
	}

	entries := memory.New()
	a.closers = append(a.closers, entries.Close)
	a.content = content.New(content.Options{
		CMS:         source,
		Cache:       entries,
		Log:         a.log,
		Now:         time.Now,
		Source:      contentSource(a.settings),
		Types:       a.settings.ContentTypes,
		Life:        cache.Lifetime{Fresh: a.settings.ContentTTL},
		FallbackDir: contentDir(a.settings),
	})
	a.resolver.Content = a.content
	return nil
}
