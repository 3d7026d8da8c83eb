// Package operator holds the commands that look into a service or repair it: leads, deliveries, the
// funnel, backup and restore, and the doctor. They run beside a running service, with its settings.
package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/store/storecopy"
)

// DatabaseFile is the name of the SQLite file in DATA_DIR.
const DatabaseFile = "siteapi.db"

// Deps opens what the commands work on. Only package main knows the drivers.
type Deps struct {
	Version string
	// Settings reads the settings. With names, only problems with those settings count.
	Settings     func(names ...string) (*config.Settings, error)
	OpenDatabase func(ctx context.Context, s *config.Settings) (*Database, error)
	OpenCMS      func(s *config.Settings) (CMS, error)
	OpenCRM      func(s *config.Settings) (CRM, error)
	OpenCache    func(ctx context.Context, s *config.Settings) (cache.Cache, error)
	SQLite       SQLite
}

// Database is an open database with the queue of deliveries on top of it.
type Database struct {
	Quotes  store.Quotes
	Archive store.Archive
	Queue   *queue.Queue
	Tables  *storecopy.Store
	Close   func() error
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

// SQLite works on database files as a whole.
type SQLite struct {
	// Lock keeps every other process from opening the database until it is closed. It fails if one has it open.
	Lock func(s *config.Settings) (io.Closer, error)
	// Snapshot copies a database that is in use, as it stands at one moment.
	Snapshot func(ctx context.Context, from, to string) error
	// Check reads a whole database that is not in use, and returns what it holds.
	Check func(ctx context.Context, path string) (submissions, sessions int64, err error)
	// Truncate empties the write-ahead log, which holds removed rows until it is written over.
	Truncate func(ctx context.Context, path string) error
}

// Commands returns all commands of this package.
func Commands(d Deps) []*cli.Command {
	return []*cli.Command{
		d.leads(), d.deliveries(), d.funnel(), d.doctor(), d.ready(), d.backup(), d.restore(), d.migrate(), d.store(), d.cms(), d.crm(), sdl(),
	}
}

// databaseSettings are the settings that locate the database.
func databaseSettings() []string { return []string{"ENVIRONMENT", "DATA_DIR", "DATABASE_URL"} }

// upstreamSettings are those of the CMS and the CRM, beside those of the database.
func upstreamSettings() []string {
	return append(databaseSettings(), "CMS_DRIVER", "CMS_FILE", "SANITY_*", "CRM_DRIVER", "HUBSPOT_*")
}

// action makes an action that uses the named settings. A command without ArgsUsage takes no arguments.
func (d Deps) action(settings []string, run func(context.Context, *cli.Command, *config.Settings) error) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		if c.ArgsUsage == "" && c.Args().Present() {
			return fmt.Errorf("%q is one argument too many: see `%s --help`", c.Args().First(), c.FullName())
		}
		s, err := d.Settings(settings...)
		if err != nil {
			return err
		}
		return run(ctx, c, s)
	}
}

// databaseAction makes an action that uses the database and nothing else.
func (d Deps) databaseAction(run func(context.Context, *cli.Command, *Database) error) cli.ActionFunc {
	return d.action(databaseSettings(), func(ctx context.Context, c *cli.Command, s *config.Settings) (err error) {
		db, err := d.openExisting(ctx, s)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		return run(ctx, c, db)
	})
}

// openExisting opens the database of a service. It never creates a SQLite file: an empty list would hide a
// wrong DATA_DIR.
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

// group is the action of a command that only holds others.
func group(_ context.Context, c *cli.Command) error {
	if c.Args().Present() {
		return UnknownCommand(c, c.Args().First())
	}
	return cli.ShowSubcommandHelp(c)
}

// UnknownCommand says that there is no such command, and which one is spelled nearly so.
func UnknownCommand(c *cli.Command, name string) error {
	return fmt.Errorf("there is no command %q.%s See `%s --help`", name, didYouMean(cli.SuggestCommand(c.Commands, name)), c.FullName())
}

// UsageError says what is wrong with a command line, and which flag is spelled nearly so.
func UsageError(_ context.Context, c *cli.Command, err error, _ bool) error {
	_, name, unknown := strings.Cut(err.Error(), "not defined: ")
	if !unknown {
		return fmt.Errorf("%w. See `%s --help`", err, c.FullName())
	}
	name = strings.TrimLeft(name, "-")
	return fmt.Errorf("there is no flag --%s.%s See `%s --help`", name, didYouMean(cli.SuggestFlag(c.Flags, name, false)), c.FullName())
}

func didYouMean(suggestion string) string {
	if suggestion == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", suggestion)
}

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
