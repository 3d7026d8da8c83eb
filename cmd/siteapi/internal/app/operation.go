package app

import (
	"context"
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
	"siteapi/resolvers/leads"
	"siteapi/resolvers/operators"
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
	m := telemetry.NewMetrics(Version())
	resolver := &resolvers.Resolver{Log: log, Version: Version(), Count: m.Event}
	size, closing := func() int { return 0 }, func() error { return nil }

	if ofContent(op) {
		site, err := openContent(s, log, m)
		if err != nil {
			return nil, nil, err
		}
		resolver.Content, size = site, site.Size
		closing = func() error { return site.Close(ctx) }
	} else {
		data, err := d.OpenExisting(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		resolver.Operators, closing = newCommandOperators(s, log, m, data), data.Close
	}

	return executor.New(executor.Options{
		Resolvers:   resolver,
		Log:         log,
		Now:         time.Now,
		ContentSize: size,
		Operations:  d.Operations,
	}), closing, nil
}

// newCommandOperators returns the resolver of the fields of operators. It sends nothing, and
// logs nothing: what is shown is in the audit.
func newCommandOperators(
	s *config.Settings, log zerolog.Logger, m *telemetry.Metrics, data *command.Database,
) *operators.Resolver {
	rules := &leads.Service{
		Archive:    data.Archive,
		Work:       data.Tables,
		Deliveries: data.Tables,
		Outcomes:   data.Tables,
		Queue:      data.Queue,
		Truncate:   data.Truncate,
		OutOfReach: command.OutOfReach(s),
	}
	return newOperators(zerolog.Nop(), data, rules, newMails(s, log, m, data, nil, nil))
}

// openContent opens the CMS for the fields of visitors. Its content is cached nowhere.
func openContent(s *config.Settings, log zerolog.Logger, m *telemetry.Metrics) (*content.Service, error) {
	source, err := openCMS(s, log, m)
	if err != nil {
		return nil, err
	}
	return content.New(content.Options{
		CMS:         source,
		Cache:       memory.New(),
		Log:         log,
		Now:         time.Now,
		Source:      contentSource(s),
		Types:       s.ContentTypes,
		Life:        cache.Lifetime{Fresh: s.ContentTTL},
		FallbackDir: contentDir(s),
	}), nil
}
