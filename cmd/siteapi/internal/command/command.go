// Package command provides the commands of the binary: those of operation documents with
// @command, and a few that are written by hand, such as backup and doctor. They use the
// settings of the service, which may run at the same time.
package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/resolvers/content"
	"siteapi/schema/operations"
)

// commands builds the commands.
type commands struct {
	getenv     func(name string) string // reads the settings
	version    string
	operations []*operations.Operation // all operation documents
}

// Commands returns all commands of this package.
func Commands(getenv func(name string) string, version string) ([]*cobra.Command, error) {
	all, err := operations.All()
	d := commands{getenv, version, all}
	list := []*cobra.Command{
		d.doctorCommand(),
		d.configCommand(),
		d.readyCommand(),

		d.backupCommand(),
		d.migrateCommand(),

		d.edgeCommands(),
		d.storeCommands(),
		d.cmsCommands(),
		d.crmCommands(),
		d.mailCommands(),
		d.mcpCommand(),
		d.sdlCommand(),
	}

	groups := map[string][]*cobra.Command{}
	for _, op := range all {
		if op.Command == nil {
			continue
		}
		name, _, inGroup := strings.Cut(op.Command.Name, " ")
		if !inGroup {
			list = append(list, d.documentCommand(op))
			continue
		}
		groups[name] = append(groups[name], d.documentCommand(op))
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		list = append(list, group(name, summaries()[name], groups[name]...))
	}
	return list, err
}

// summaries returns the help texts of command groups.
func summaries() map[string]string {
	return map[string]string{
		"audit":      "list and verify the audited actions of operators",
		"cache":      "inspect, clear and invalidate the cache of the running service",
		"content":    "show the site's content as stored in the CMS",
		"deliveries": "show, retry and verify deliveries to the CMS, the CRM and the webhook",
		"leads":      "list, show, export, review and erase leads, and withdraw consents",
		"logins":     "list and end logins of operators who signed in with their account",
	}
}

// call is a call of a command, with its systems.
type call struct {
	commands commands
	line     *cobra.Command
	out      *bufio.Writer // The first error fails the command.
	settings *config.Settings
	wrong    config.Problems // invalid settings; only diagnoses have any
	open     systems.Opener  // opens the systems that the settings name

	db      *systems.Database // nil if the command does not use the database
	cache   cache.Cache       // nil if the command does not use the cache
	content *content.Service  // nil if the command does not use the CMS's content
	service Service           // the running service that the command calls
}

func (c *call) printLine(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format+"\n", args...) }

// flag returns the value of a flag of the command.
func (c *call) flag(name string) string { return c.line.Flag(name).Value.String() }

// do runs a command.
type do func(ctx context.Context, c *call) error

// command returns a command without arguments. It fails if one of its settings is invalid.
func (d commands) command(use, short string, settings []string, run do, examples ...string) *cobra.Command {
	return d.build(use, short, examples, run, func(c *call) (err error) {
		c.settings, err = config.Read(d.getenv, settings...)
		return err
	})
}

// diagnosis returns a command that also runs with invalid settings, and reports them.
func (d commands) diagnosis(use, short string, run do, examples ...string) *cobra.Command {
	return d.build(use, short, examples, run, func(c *call) error {
		s, err := config.Read(d.getenv)
		wrong, _ := errors.AsType[config.Problems](err)
		c.settings, c.wrong = s, systems.CheckServing(s, wrong)
		return nil
	})
}

func (d commands) build(
	use, short string, examples []string, run do, readSettings func(c *call) error,
) *cobra.Command {
	return &cobra.Command{
		Use:     use,
		Short:   short,
		Example: "  " + strings.Join(examples, "\n  "),
		Args:    cobra.NoArgs,
		RunE: func(line *cobra.Command, _ []string) (err error) {
			c := &call{commands: d, line: line, out: bufio.NewWriter(line.OutOrStdout())}
			if err := readSettings(c); err != nil {
				return err
			}

			// Only warnings and errors are logged, and the metrics are not exposed.
			c.open = systems.Opener{
				Settings: c.settings,
				Log: zerolog.New(telemetry.ConsoleWriter(os.Stderr)).
					Level(zerolog.WarnLevel).With().Timestamp().Logger(),
				Metrics: telemetry.NewMetrics(d.version),
			}
			err = errors.Join(run(line.Context(), c), c.out.Flush())
			return errors.Join(err, c.close(line.Context()))
		},
	}
}

// group returns a command that only groups other commands.
func group(name, summary string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   name,
		Short: summary,
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		// The error names a mistyped command, not the flag after it.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	c.AddCommand(commands...)
	return c
}

// openDatabase opens the database for the rest of the call, unless it is open.
func (c *call) openDatabase(ctx context.Context) (err error) {
	if c.db == nil {
		c.db, err = c.open.ExistingDatabase(ctx)
	}
	return err
}

// openContent opens the content of the CMS for the rest of the call.
func (c *call) openContent() error {
	source, err := c.open.CMS()
	if err == nil {
		c.content = c.open.Content(content.Options{CMS: source, Watcher: source})
	}
	return err
}

func (c *call) close(ctx context.Context) (err error) {
	if c.content != nil {
		err = c.content.Close(ctx)
	}
	if c.db != nil {
		err = errors.Join(err, c.db.Close())
	}
	if c.cache != nil {
		err = errors.Join(err, c.cache.Close())
	}
	return err
}

// finding is the error of a command that finished its work and found a problem.
type finding string

func (f finding) Error() string { return string(f) }

// ExitCode returns the exit code of an error: 2 if a check found a problem, 1 if the
// command failed.
func ExitCode(err error) int {
	if f, ok := errors.AsType[finding](err); ok && err.Error() == f.Error() {
		return 2
	}
	return 1
}

// missing reports whether a path does not exist. It returns false after other errors,
// which opening the path will report.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
