// Package operator holds the commands that look into a service or repair it: leads, deliveries, the
// funnel, backup and restore, and the doctor. They run beside a running service, with its settings.
package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/store/storecopy"
	"siteapi/resolvers/leads"
)

// DatabaseFile is the name of the SQLite file in DATA_DIR.
const DatabaseFile = "siteapi.db"

// Deps opens what the commands work on.
type Deps struct {
	Version      string
	Getenv       func(name string) string // reads the settings
	OpenDatabase func(ctx context.Context, s *config.Settings) (*Database, error)
	OpenCMS      func(s *config.Settings) (CMS, error)
	OpenCRM      func(s *config.Settings) (CRM, error)
	OpenCache    func(ctx context.Context, s *config.Settings) (cache.Cache, error)
	// LockSQLite keeps every other process from opening the database until it is closed. It fails if one has it open.
	LockSQLite func(s *config.Settings) (io.Closer, error)
}

// Database is an open database with the queue of deliveries on top of it.
type Database struct {
	Quotes   store.Quotes
	Archive  store.Archive
	Queue    *queue.Queue
	Tables   *storecopy.Store
	Truncate func(ctx context.Context) error
	Close    func() error
}

// CMS is what the commands need of the CMS's driver.
type CMS interface {
	cms.Content
	cms.Lookup
	cms.Eraser
}

// CRM is what the commands need of the CRM's driver.
type CRM interface {
	crm.Lookup
	crm.Eraser
}

// Commands returns all commands of this package.
func Commands(d Deps) []*cobra.Command {
	return []*cobra.Command{
		d.leads(), d.deliveries(), d.funnel(), d.doctor(), d.ready(), d.backup(), d.restore(), d.migrate(), d.store(), d.cms(), d.crm(), sdl(),
	}
}

// databaseSettings are the settings that locate the database.
func databaseSettings() []string { return []string{"ENVIRONMENT", "DATA_DIR", "DATABASE_URL"} }

// upstreamSettings are those of the CMS and the CRM, beside those of the database.
func upstreamSettings() []string {
	return append(databaseSettings(), "CMS_DRIVER", "CMS_FILE", "SANITY_*", "CRM_DRIVER", "HUBSPOT_*")
}

// call is one call of a command, with what it works on.
type call struct {
	Deps
	flags    *pflag.FlagSet
	args     []string
	in       io.Reader
	out      io.Writer
	settings *config.Settings
	db       *Database      // of a command that works on it
	rules    *leads.Service // over that database
}

// text returns the value of a flag.
func (c *call) text(name string) string {
	value, _ := c.flags.GetString(name)
	return value
}

// on reports whether a flag without a value is given.
func (c *call) on(name string) bool {
	given, _ := c.flags.GetBool(name)
	return given
}

// say prints a line.
func (c *call) say(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format+"\n", args...) }

// command completes a command. Only problems with the settings that it names count; without names all do.
func (d Deps) command(c *cobra.Command, settings []string, run func(context.Context, *call) error, flags ...flag) *cobra.Command {
	if c.Args == nil {
		c.Args = NoArguments
	}
	for _, add := range flags {
		add(c.Flags())
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := config.Read(d.Getenv, settings...)
		if err != nil {
			return err
		}
		return run(c.Context(), &call{Deps: d, flags: c.Flags(), args: args, in: c.InOrStdin(), out: c.OutOrStdout(), settings: s})
	}
	return c
}

// databaseCommand completes a command that works on the database and nothing else.
func (d Deps) databaseCommand(c *cobra.Command, run func(context.Context, *call) error, flags ...flag) *cobra.Command {
	return d.command(c, databaseSettings(), func(ctx context.Context, c *call) error {
		return c.withDatabase(ctx, func() error { return run(ctx, c) })
	}, flags...)
}

// withDatabase runs a part of a command that works on the database.
func (c *call) withDatabase(ctx context.Context, run func() error) (err error) {
	if c.db, err = c.openExisting(ctx, c.settings); err != nil {
		return err
	}
	c.rules = &leads.Service{Archive: c.db.Archive, Deliveries: c.db.Queue, Truncate: c.db.Truncate}
	return errors.Join(run(), c.db.Close())
}

// withUpstreams runs a part of a command that works on the database, the CMS and the CRM.
func (c *call) withUpstreams(ctx context.Context, run func() error) error {
	documents, err := c.OpenCMS(c.settings)
	if err != nil {
		return fmt.Errorf("opening the CMS: %w", err)
	}
	contacts, err := c.OpenCRM(c.settings)
	if err != nil {
		return fmt.Errorf("opening the CRM: %w", err)
	}
	return c.withDatabase(ctx, func() error {
		c.rules.CMS, c.rules.CRM = documents, contacts
		return run()
	})
}

// openExisting opens the database of a service. It never creates a SQLite file: an empty list would hide a wrong DATA_DIR.
func (d Deps) openExisting(ctx context.Context, s *config.Settings) (*Database, error) {
	if s.DatabaseURL == nil && !exists(databasePath(s)) {
		return nil, noDatabase(s)
	}
	return d.OpenDatabase(ctx, s)
}

func noDatabase(s *config.Settings) error {
	return fmt.Errorf("DATA_DIR: there is no database at %s: set DATA_DIR to the folder of the service, or start it once", databasePath(s))
}

func databasePath(s *config.Settings) string { return filepath.Join(s.DataDir, DatabaseFile) }

// finding is the outcome of a command that did its work and found something wrong.
type finding string

// Error says what was found.
func (f finding) Error() string { return string(f) }

// ExitCode returns the exit code of an error: 2 for a finding, 1 for a failure.
func ExitCode(err error) int {
	if _, ok := errors.AsType[finding](err); ok {
		return 2
	}
	return 1
}
