package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/queue"
	"siteapi/integrations/store/storecopy"
	"siteapi/resolvers/leads"
)

// migrate is `siteapi migrate`.
func (d Deps) migrate() *cobra.Command {
	return d.command(&cobra.Command{
		Use: "migrate", Short: "create the tables or bring them up to date, and stop",
		Long:    "The service does this whenever it starts. Run it by itself if the service's database user may not change tables.",
		Example: "  DATABASE_URL=postgres://owner@db/siteapi siteapi migrate",
	}, databaseSettings(), func(ctx context.Context, c *call) error {
		db, err := c.openOrCreate(ctx, c.settings)
		if err != nil {
			return err
		}
		c.say("the tables are up to date")
		return db.Close()
	})
}

// openOrCreate opens a database, and creates its folder with SQLite.
func (d Deps) openOrCreate(ctx context.Context, s *config.Settings) (*Database, error) {
	if err := os.MkdirAll(s.DataDir, 0o750); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	return d.OpenDatabase(ctx, s)
}

// store is `siteapi store`.
func (d Deps) store() *cobra.Command {
	return group("store", "move what is stored to another database", "  siteapi store copy --from data --to postgres://siteapi@db/siteapi",
		d.command(&cobra.Command{
			Use: "copy", Short: "copy sessions, submissions and unfinished deliveries into another database",
			Long:    "Stop the service before the last copy. A copy that was interrupted is repeated: what is there stays.",
			Example: "  siteapi store copy --from data --to postgres://siteapi@db/siteapi",
		}, databaseSettings(), copyStore,
			textFlag("from", "the old `database`: a data folder, or postgres://…; left out: DATA_DIR"),
			textFlag("to", "the new `database`: a data folder, or postgres://…; left out: DATABASE_URL")))
}

func copyStore(ctx context.Context, c *call) (err error) {
	old, fresh := cmp.Or(c.text("from"), c.settings.DataDir), c.text("to")
	if fresh == "" && c.settings.DatabaseURL != nil {
		fresh = c.settings.DatabaseURL.String()
	}
	switch {
	case fresh == "":
		return errors.New("--to: name the new database, or set DATABASE_URL")
	case filepath.Clean(old) == filepath.Clean(fresh):
		return errors.New("--from and --to are the same database")
	}
	from, err := openAt(ctx, c.settings, old, c.openExisting)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := openAt(ctx, c.settings, fresh, c.openOrCreate)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	list, err := from.Queue.List(ctx, queue.Filter{States: leads.Undelivered()})
	if err != nil {
		return fmt.Errorf("reading the old deliveries: %w", err)
	}
	unfinished := map[string]bool{}
	for _, d := range list {
		unfinished[d.SubmissionID] = true
	}
	report, err := storecopy.Copy(ctx, from.Tables, to.Tables, func(_ context.Context, ids []string) ([]string, error) {
		return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !unfinished[id] }), nil
	})
	c.say("sessions read: %d\nsubmissions read: %d, new: %d, with deliveries to make: %d",
		report.Sessions, report.Submissions, report.Created, report.Enqueued)
	return err
}

// openAt opens a database other than that of the settings: in a data folder, or at an address.
func openAt(
	ctx context.Context, s *config.Settings, place string, open func(context.Context, *config.Settings) (*Database, error),
) (*Database, error) {
	other := *s
	other.DatabaseURL, other.DataDir = nil, place
	if strings.Contains(place, "://") {
		u, err := url.Parse(place)
		if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
			return nil, errors.New("must be a data folder or begin with postgres://") // it may hold a password
		}
		other.DatabaseURL, other.DataDir = u, s.DataDir
	}
	return open(ctx, &other)
}
