package operator

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/queue"
	"siteapi/integrations/store/storecopy"
	"siteapi/resolvers/leads"
)

// migrate is `siteapi migrate`.
func (d Deps) migrate() *cli.Command {
	return &cli.Command{
		Name: "migrate", Usage: "create the tables or bring them up to date, and stop",
		Description: "The service does this whenever it starts. Run it by itself if the service's database user may not change\n" +
			"tables.\n\n   DATABASE_URL=postgres://owner@db/siteapi siteapi migrate",
		Action: d.action(databaseSettings(), func(ctx context.Context, c *cli.Command, s *config.Settings) error {
			if err := os.MkdirAll(s.DataDir, 0o750); err != nil {
				return fmt.Errorf("DATA_DIR: %w", err)
			}
			db, err := d.OpenDatabase(ctx, s)
			if err != nil {
				return err
			}
			if err := db.Close(); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.Root().Writer, "the tables are up to date")
			return err
		}),
	}
}

// store is `siteapi store`.
func (d Deps) store() *cli.Command {
	return &cli.Command{
		Name: "store", Usage: "move what is stored to another database", Action: group,
		Description: "   siteapi store copy --from data --to postgres://siteapi@db/siteapi",
		Commands: []*cli.Command{{
			Name: "copy", Usage: "copy sessions, submissions and unfinished deliveries into another database",
			Description: "Stop the service before the last copy. A copy that was interrupted is repeated: what is there stays.\n\n" +
				"   siteapi store copy --from data --to postgres://siteapi@db/siteapi",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "from", Usage: "the old database: a data folder, or postgres://…; left out: DATA_DIR"},
				&cli.StringFlag{Name: "to", Usage: "the new database: a data folder, or postgres://…; left out: DATABASE_URL"},
			},
			Action: d.action(databaseSettings(), d.copyStore),
		}},
	}
}

func (d Deps) copyStore(ctx context.Context, c *cli.Command, s *config.Settings) (err error) {
	old, fresh := c.String("from"), c.String("to")
	if old == "" {
		old = s.DataDir
	}
	if fresh == "" && s.DatabaseURL != nil {
		fresh = s.DatabaseURL.String()
	}
	switch {
	case fresh == "":
		return errors.New("--to: name the new database, or set DATABASE_URL")
	case filepath.Clean(old) == filepath.Clean(fresh):
		return errors.New("--from and --to are the same database")
	}
	source, err := databaseAt(s, old)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	destination, err := databaseAt(s, fresh)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	from, err := d.openExisting(ctx, source)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if destination.DatabaseURL == nil {
		if err := os.MkdirAll(fresh, 0o750); err != nil {
			return fmt.Errorf("--to: %w", err)
		}
	}
	to, err := d.OpenDatabase(ctx, destination)
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
	_, printErr := fmt.Fprintf(c.Root().Writer, "sessions read: %d\nsubmissions read: %d, new: %d, with deliveries to make: %d\n",
		report.Sessions, report.Submissions, report.Created, report.Enqueued)
	return errors.Join(err, printErr)
}

// databaseAt returns the settings with another database: that in a data folder, or at an address.
func databaseAt(s *config.Settings, place string) (*config.Settings, error) {
	other := *s
	other.DatabaseURL = nil
	if !strings.Contains(place, "://") {
		other.DataDir = place
		return &other, nil
	}
	u, err := url.Parse(place)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errors.New("must be a data folder or begin with postgres://") // it may hold a password
	}
	other.DatabaseURL = u
	return &other, nil
}
