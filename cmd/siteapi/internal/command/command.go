// Package command provides the commands of the binary: those of operation documents with
// @command, and a few that are written by hand, such as backup and doctor. They use the
// settings of the service, which may run at the same time.
package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/mail"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/quotepdf"
	"siteapi/schema/operations"
)

// DatabaseFile is the name of the SQLite file in DATA_DIR.
const DatabaseFile = "siteapi.db"

// Drivers opens the systems of the commands.
type Drivers struct {
	Getenv func(name string) string // reads the settings

	// CheckServing adds problems with documents and content that prevent the service from
	// starting.
	CheckServing func(s *config.Settings, wrong config.Problems) config.Problems

	Checks []health.Check // health checks, for the operations that report them

	// Operations are all operation documents. OpenExecutor opens the systems of an
	// operation. It returns an executor, and a function that closes the systems.
	Operations   []*operations.Operation
	OpenExecutor func(
		ctx context.Context, d Drivers, s *config.Settings, service Service, op *operations.Operation,
	) (run operations.Executor, closing func() error, err error)

	OpenDatabase func(ctx context.Context, s *config.Settings) (*Database, error)
	Sample       []byte // sample documents as a JSON array
	OpenCMS      func(s *config.Settings) (CMS, error)
	OpenCRM      func(s *config.Settings) (CRM, error)
	OpenMail     func(s *config.Settings) mail.Sender // returns nil if mails are off
	OpenMailer   func(s *config.Settings, leads quotepdf.LeadStore) (*leadmail.Service, error)
	OpenCache    func(ctx context.Context, s *config.Settings) (cache.Cache, error)
	OpenEdge     func(s *config.Settings) ([]queue.Receiver, error)

	// LockSQLite locks the database exclusively until the lock is closed. It fails if
	// another process uses the database.
	LockSQLite func(s *config.Settings) (io.Closer, error)
}

// Database is an open database with its delivery queue.
type Database struct {
	Queue    *queue.Queue
	Store    *store.Store
	Truncate func(ctx context.Context) error // removes deleted data from the write-ahead log of SQLite
	Close    func() error
	Load     func() store.Load
	Files    []string // SQLite files; empty with PostgreSQL

	// Sizes returns the bytes of each PostgreSQL table with its indexes. It is nil with
	// SQLite.
	Sizes func(ctx context.Context) (map[string]int64, error)
}

// CMS is implemented by every CMS driver.
type CMS interface {
	cms.Content
	cms.Leads
	cms.Watcher
	leads.CMS
}

// CRM is implemented by every CRM driver.
type CRM interface {
	crm.Contacts
	leads.CRM
}

// Commands returns all commands of this package.
func Commands(d Drivers) []*cobra.Command {
	list := []*cobra.Command{
		d.doctorCommand(),
		d.configCommand(),
		d.readyCommand(),

		d.backupCommand(),
		d.restoreCommand(),
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
	for _, op := range d.Operations {
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
	return list
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
	drivers  Drivers
	in       io.Reader
	out      *bufio.Writer // The first error fails the command.
	errOut   io.Writer
	settings *config.Settings
	wrong    config.Problems // invalid settings, if the command needs all settings
	db       *Database       // nil if the command does not use the database
}

func (c *call) printLine(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format+"\n", args...) }

// command returns a command without arguments. It fails if one of its settings is
// invalid. A command with an empty list of settings needs all of them, and reports their
// problems itself.
func (d Drivers) command(
	use, short string, settings []string, do func(ctx context.Context, c *call) error, examples ...string,
) *cobra.Command {
	return &cobra.Command{
		Use:     use,
		Short:   short,
		Example: "  " + strings.Join(examples, "\n  "),
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			c := &call{
				drivers: d,
				in:      command.InOrStdin(),
				out:     bufio.NewWriter(command.OutOrStdout()),
				errOut:  command.ErrOrStderr(),
			}

			c.settings, err = config.Read(d.Getenv, settings...)
			switch {
			case len(settings) == 0:
				wrong, _ := errors.AsType[config.Problems](err)
				c.wrong = d.CheckServing(c.settings, wrong)
			case err != nil:
				return err
			}

			err = errors.Join(do(command.Context(), c), c.out.Flush())
			if c.db != nil {
				err = errors.Join(err, c.db.Close())
			}
			return err
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

// openDatabase opens the database for the rest of the call.
func (c *call) openDatabase(ctx context.Context) (err error) {
	c.db, err = c.drivers.OpenExisting(ctx, c.settings)
	return err
}

// finding is the error of a command that finished its work and found a problem.
type finding string

func (f finding) Error() string { return string(f) }

// ExitCode returns the exit code of an error: 2 if it is only a finding, 1 for a failure.
func ExitCode(err error) int {
	if f, ok := errors.AsType[finding](err); ok && err.Error() == f.Error() {
		return 2
	}
	return 1
}

// OpenExisting opens the database of a service. It fails if there is none.
func (d Drivers) OpenExisting(ctx context.Context, s *config.Settings) (*Database, error) {
	if err := existing(s); err != nil {
		return nil, err
	}
	return d.OpenDatabase(ctx, s)
}

// existing returns an error if SQLite is used and its database does not exist. Commands
// must not create it, since an empty list would hide a wrong DATA_DIR.
func existing(s *config.Settings) error {
	if s.DatabaseURL != nil {
		return nil
	}

	_, err := os.Lstat(databasePath(s))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database at %s: "+
			"set DATA_DIR to the folder of the service, or start the service once (%w)",
			databasePath(s), health.ErrNotMade)
	}
	if err != nil {
		return fmt.Errorf("looking for the database (DATA_DIR): %w", err)
	}
	return nil
}

func databasePath(s *config.Settings) string { return filepath.Join(s.DataDir, DatabaseFile) }

// DatabaseIdle reports whether no process uses the SQLite database, and thus no service
// is running. It is always false with PostgreSQL, where this is unknown.
func (d Drivers) DatabaseIdle(s *config.Settings) bool {
	if s.DatabaseURL != nil || existing(s) != nil {
		return false
	}
	lock, err := d.LockSQLite(s)
	return err == nil && lock.Close() == nil
}

// missing reports whether a path does not exist. It returns false after other errors,
// which opening the path will report.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// OutOfReach lists the copies of a lead that an erasure cannot reach with these settings.
func OutOfReach(s *config.Settings) []string {
	list := []string{
		"backups until they are removed: after a restore, erase again",
		"copies made by users: exports, downloaded PDFs, e-mails",
	}

	add := func(setUp bool, text string) {
		if setUp {
			list = append(list, text)
		}
	}
	add(s.LeadWebhookURL != "", "data stored by the receiver at LEAD_WEBHOOK_URL")
	add(s.CMSDriver != "file", "the history of the CMS")
	hubspot := s.CRMDriver == "hubspot"
	add(hubspot && s.HubSpotStage != "",
		"what HubSpot keeps of deals: former values, and what your team has added")
	add(hubspot && s.HubSpotStage == "",
		"deals in HubSpot, if HUBSPOT_DEAL_STAGE was set before: set it again to erase them")
	add(s.DatabaseURL != nil, "deleted rows of PostgreSQL until the next VACUUM, and its archived WAL")
	add(s.DatabaseURL != nil && s.CacheURL.Scheme == "memory",
		"PDFs in the memory of other instances, for at most an hour")
	add(s.SMTPURL != nil, "sent mails in the mailboxes of the visitor and of SALES_MAIL_TO")
	return list
}
