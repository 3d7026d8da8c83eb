// Package operator implements the commands that inspect or repair a service: leads,
// deliveries, the funnel, backup and restore, and the doctor. They run beside a running
// service, with its settings.
package operator

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/mail"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/store/storecopy"
	"siteapi/resolvers"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// DatabaseFile is the name of the SQLite file in DATA_DIR.
const DatabaseFile = "siteapi.db"

// Deps opens the systems that the commands work on.
type Deps struct {
	Getenv func(name string) string // reads the settings

	// CheckServing finds valid settings with which nothing may be served.
	CheckServing func(s *config.Settings) error

	OpenDatabase func(ctx context.Context, s *config.Settings) (*Database, error)
	Sample       []byte // documents of the sample company, as a JSON array
	OpenCMS      func(s *config.Settings) (CMS, error)
	OpenCRM      func(s *config.Settings) (leads.CRM, error)
	OpenMail     func(s *config.Settings) mail.Sender // nil: no mails are sent
	OpenMailer   func(s *config.Settings, quotes store.Quotes) (*resolvers.Resolver, error)
	OpenCache    func(ctx context.Context, s *config.Settings) (cache.Cache, error)
	OpenEdge     func(s *config.Settings) ([]queue.Receiver, error)

	// LockSQLite keeps every other process from opening the database until the lock is
	// closed. It fails if one has the database open.
	LockSQLite func(s *config.Settings) (io.Closer, error)
}

// Database is an open database with the queue of deliveries on top of it.
type Database struct {
	Quotes   store.Quotes
	Archive  store.Archive
	Queue    *queue.Queue
	Tables   *storecopy.Store                // the data that can be copied to another database
	Truncate func(ctx context.Context) error // removes deleted data from SQLite's log
	Close    func() error
	Load     func() store.Load
	Files    []string // SQLite's files; none with PostgreSQL
}

// CMS is the part of a CMS driver that the commands need.
type CMS interface {
	cms.Content
	leads.CMS
}

// Commands returns all commands of this package.
func Commands(d Deps) []*cobra.Command {
	target := enumFlag("target", "only this `target`", queue.Targets())
	names := options(
		arguments("<id or PDF reference> … | --all"),
		boolFlag("all", "all that are in review"),
	)

	return []*cobra.Command{
		group("leads", "list, show, export, release, reject and erase leads",
			d.onDatabase(listLeads,
				"list", "list leads, newest first",
				leadFlags(), jsonFlag(), limitFlag()),

			d.onDatabase(showLeads,
				"show", "show leads, or all of an address, with their deliveries",
				arguments("<id, PDF reference or e-mail address> …"), jsonFlag()),

			d.onDatabase(exportLeads,
				"export", "write leads as CSV or NDJSON, oldest first",
				leadFlags(),
				enumFlag("format", "the `format`, csv unless it is given", []string{"csv", "ndjson"}),
				outputFlags("`file` to write, readable by you only; left out: standard output")),

			d.onDatabase(decide("released: the running service delivers them now", store.Archive.Release),
				"release", "deliver leads that are in review or were rejected",
				names),

			d.onDatabase(decide("rejected", store.Archive.Reject),
				"reject", "reject leads that are in review: "+
					"they are never delivered, unless released after all",
				names),

			d.command(append(upstreamSettings(), "LISTEN_ADDR", "CACHE_URL", "CACHE_PREFIX"), eraseLeads,
				"erase", "erase everything that is stored about an e-mail address, everywhere",
				textFlag("email", "the `address`, in any letter case; -: the first line of standard input"),
				boolFlag("yes", "erase: without it nothing is changed, and it only says what it finds"),
				textFlag("receipt", "also write the receipt to this `file`, as JSON"),
				serverFlag(), jsonFlag()),
		),

		group("deliveries", "show, retry and verify deliveries to the CMS, the CRM and the webhook; "+
			"nothing personal is printed",
			d.onDatabase(listDeliveries,
				"list", "list deliveries, oldest first; without --state those that have not arrived",
				statesFlag(), target, jsonFlag(), limitFlag(),
				textFlag("submission",
					"only those of the `lead` with this id or PDF reference, in every state")),

			d.onDatabase(retryDeliveries,
				"retry", "have the running service try deliveries now, failed ones too",
				arguments("<delivery> … | --all"), statesFlag(), target,
				boolFlag("all", "all that have not arrived, or those that --state and --target leave")),

			d.onDatabase(resendDeliveries,
				"resend", "deliver leads to a target once more, even after 30 days, "+
					"when their deliveries are deleted",
				arguments("<id or PDF reference> … --target cms|crm|webhook"), target, required("target")),

			d.command(upstreamSettings(), verifyDeliveries,
				"verify", "compare stored leads with the CMS and the CRM; exit code 2: something is missing",
				timeFlag("since", "only leads submitted since that"), target, jsonFlag(),
				boolFlag("fix", "send again what is missing")),
		),

		d.onDatabase(printFunnel,
			"funnel", "report how far visitors get in the calculator, and what they choose",
			periodFlags("sessions last seen"), jsonFlag(),
			enumFlag("locale", "only sessions whose lead is in this `language`", schema.AllLocale)),

		d.command(nil, examine,
			"doctor", "check settings, disk, database, deliveries, cache, CMS and CRM, and say what to do",
			despiteSettings(),
			jsonFlag(), boolFlag("strict", "exit code 2 for warnings too"), serverFlag()),

		d.command(nil, printConfig,
			"config", "print the effective settings, secrets redacted, and check them"),

		d.command([]string{"LISTEN_ADDR"}, isReady,
			"ready", "ask the running service whether it is ready; exit code 2: it is not",
			serverFlag()),

		d.command(databaseSettings(), writeBackup,
			"backup", "write everything in DATA_DIR to one file, while the service runs",
			outputFlags("`file` to write, readable by you only; -: standard output")),

		d.command(databaseSettings(), restoreBackup,
			"restore", "replace the contents of DATA_DIR by a backup, and move them aside",
			textFlag("from", "the `file` to restore; -: standard input")),

		d.command(databaseSettings(), migrate,
			"migrate", "create the tables or bring them up to date, as every start does, and stop"),

		group("edge", "the CDN in front, and renderers of the site",
			d.command([]string{"ENVIRONMENT", "CDN_*", "REVALIDATE_*"}, purgeEdge,
				"purge", "have the CDN drop answers, and tell renderers, now; exit code 2: one failed",
				arguments("<key> … | --all"),
				boolFlag("all", "everything that is made of content"))),

		group("store", "copy the stored data to PostgreSQL",
			d.command(databaseSettings(), copyStore,
				"copy", "copy sessions, submissions and unfinished deliveries from "+
					"SQLite in DATA_DIR to PostgreSQL at DATABASE_URL"),
		),

		d.command(
			[]string{"ENVIRONMENT", "DATA_DIR", "CMS_DRIVER", "CMS_FILE", "SANITY_*"},
			printPrice,
			"price", "price choices by the rules of the published content, and print the rules; "+
				"exit code 2: there are none",
			priceFlags()),

		group("cms", "prepare the CMS",
			d.command(
				[]string{"ENVIRONMENT", "DATA_DIR", "CMS_DRIVER", "CMS_FILE", "SANITY_*", "SITE_URL"},
				setUpCMS,
				"setup", "print the webhook that the CMS needs and what is missing here, or create it; "+
					"safe to repeat",
				boolFlag("create", "create the webhook, unless one for this address exists; "+
					"the token must have the right to")),
			d.command(
				[]string{"ENVIRONMENT", "DATA_DIR", "CMS_DRIVER", "CMS_FILE", "SANITY_*"},
				seedCMS,
				"seed", "put the documents of the sample company into an empty dataset, after asking",
				boolFlag("yes", "do not ask")),
		),

		group("crm", "prepare the CRM",
			d.command([]string{"DATA_DIR", "CRM_DRIVER", "HUBSPOT_*"}, setUpCRM,
				"setup", "create the properties that leads are stored in; safe to repeat"),
		),

		group("mail", "look at the mails about leads, and try the mail server",
			d.command(mailSettings(), previewMail, "preview",
				"write a mail about a lead to an .eml file, and send nothing",
				textFlag("lead", "id or PDF reference of the `lead`"), required("lead"),
				enumFlag("mail", "the `mail`, visitor unless it is given", []string{"visitor", "sales"}),
				enumFlag("locale", "in this `language`", schema.AllLocale),
				outputFlags("`file` to write, readable by you only; left out: standard output")),
			d.command(mailSettings(), testMail, "test",
				"send the visitor's mail of a made-up lead",
				textFlag("to", "the `address` to send it to"), required("to"),
				enumFlag("locale", "in this `language`", schema.AllLocale)),
		),

		d.command([]string{"(none)"}, printSDL,
			"sdl", "print the GraphQL schema, for code generators and other tools"),
	}
}

// databaseSettings are the settings that locate the database.
func databaseSettings() []string { return []string{"ENVIRONMENT", "DATA_DIR", "DATABASE_URL"} }

// upstreamSettings are the settings of the CMS and the CRM, and those that locate the
// database.
func upstreamSettings() []string {
	return append(databaseSettings(), "CMS_DRIVER", "CMS_FILE", "SANITY_*", "CRM_DRIVER", "HUBSPOT_*")
}

// call is one call of a command, with the systems that it works on.
type call struct {
	Deps
	*cobra.Command
	args     []string
	out      *bufio.Writer // keeps the first error, with which the command fails
	settings *config.Settings
	wrong    config.Problems // settings that cannot be used, for a command that goes on
	despite  bool            // the command goes on with wrong settings
	db       *Database       // nil unless the command works on the database
	rules    *leads.Service  // the rules of leads on that database

	texts  map[string]string // values of flags by name
	times  map[string]time.Time
	states []queue.State
	most   int // value of --limit
}

// on reports whether a flag without a value is given.
func (c *call) on(name string) bool {
	given, _ := c.Flags().GetBool(name)
	return given
}

func (c *call) say(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format+"\n", args...) }

type action func(context.Context, *call) error

// command returns a command. It fails if a setting that it names cannot be used; without
// names, it needs all settings.
func (d Deps) command(settings []string, do action, name, summary string, options ...option) *cobra.Command {
	c := &call{Deps: d, texts: map[string]string{}, times: map[string]time.Time{}}
	c.Command = &cobra.Command{Use: name, Short: summary, Args: NoArguments}

	c.RunE = func(_ *cobra.Command, args []string) (err error) {
		if until, ok := c.times["until"]; ok && !c.times["since"].Before(until) {
			return errors.New("--until: must be later than --since")
		}
		c.settings, err = config.Read(d.Getenv, settings...)
		if c.wrong, _ = errors.AsType[config.Problems](err); err != nil && !c.despite {
			return err
		}

		c.args, c.out = args, bufio.NewWriter(c.OutOrStdout())
		err = errors.Join(do(c.Context(), c), c.out.Flush())
		if c.db != nil {
			err = errors.Join(err, c.db.Close())
		}
		return err
	}

	for _, apply := range options {
		apply(c)
	}
	return c.Command
}

// despiteSettings lets a command go on with settings that cannot be used.
func despiteSettings() option { return func(c *call) { c.despite = true } }

// onDatabase returns a command that works on the database and nothing else.
func (d Deps) onDatabase(do action, name, summary string, options ...option) *cobra.Command {
	return d.command(databaseSettings(), func(ctx context.Context, c *call) error {
		if err := c.openDatabase(ctx); err != nil {
			return err
		}
		return do(ctx, c)
	}, name, summary, options...)
}

// group returns a command that holds other commands and does nothing itself.
func group(name, summary string, commands ...*cobra.Command) *cobra.Command {
	help := func(c *cobra.Command, _ []string) error { return c.Help() }
	c := &cobra.Command{Use: name, Short: summary, Args: NoArguments, RunE: help, DisableFlagsInUseLine: true}
	c.AddCommand(commands...)
	return c
}

// openDatabase opens the database for the rest of the call.
func (c *call) openDatabase(ctx context.Context) (err error) {
	if c.db, err = c.openExisting(ctx, c.settings); err == nil {
		c.rules = &leads.Service{
			Archive:    c.db.Archive,
			Records:    c.db.Tables,
			Deliveries: c.db.Queue,
			Truncate:   c.db.Truncate,
			Mails:      mailfile.Open(c.settings.MailPath()),
			OutOfReach: OutOfReach(c.settings),
		}
	}
	return err
}

// openAll opens the database, the CMS and the CRM.
func (c *call) openAll(ctx context.Context) error {
	// The database comes first: file drivers create their folders even if DATA_DIR is
	// mistyped.
	if err := c.openDatabase(ctx); err != nil {
		return err
	}

	documents, cmsErr := c.OpenCMS(c.settings)
	contacts, crmErr := c.OpenCRM(c.settings)
	c.rules.CMS, c.rules.CRM = documents, contacts
	return errors.Join(cmsErr, crmErr)
}

// finding is the result of a command that did its work and found something wrong.
type finding string

func (f finding) Error() string { return string(f) }

// ExitCode returns the exit code of an error: 2 for a finding and nothing else, 1 for a
// failure.
func ExitCode(err error) int {
	if f, ok := errors.AsType[finding](err); ok && err.Error() == f.Error() {
		return 2
	}
	return 1
}

// openExisting opens the database of a service, which must exist.
func (d Deps) openExisting(ctx context.Context, s *config.Settings) (*Database, error) {
	if err := existing(s); err != nil {
		return nil, err
	}
	return d.OpenDatabase(ctx, s)
}

// existing returns an error if there is no SQLite database. One must not be created,
// since an empty list would hide a wrong DATA_DIR.
func existing(s *config.Settings) error {
	if s.DatabaseURL != nil || exists(databasePath(s)) {
		return nil
	}

	return fmt.Errorf("there is no database at %s: "+
		"set DATA_DIR to the folder of the service, or start it once (%w)",
		databasePath(s), health.ErrNotMade)
}

func databasePath(s *config.Settings) string { return filepath.Join(s.DataDir, DatabaseFile) }

// databaseIdle reports whether no other process has the SQLite database open. It is false
// with PostgreSQL, where that is not known.
func (d Deps) databaseIdle(s *config.Settings) bool {
	if s.DatabaseURL != nil {
		return false
	}
	lock, err := d.LockSQLite(s)
	return err == nil && lock.Close() == nil
}
