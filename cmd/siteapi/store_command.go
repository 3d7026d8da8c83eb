package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/queue"
	"siteapi/integrations/store/storecopy"
)

// migrateCommand brings the tables up to date apart from the start of a service.
func migrateCommand(getenv func(string) string, out io.Writer) *cli.Command {
	o := operator{getenv, out}
	return &cli.Command{
		Name: "migrate", Usage: "create the tables or bring them up to date, and stop",
		Description: "The service does this itself whenever it starts, and several may do it at once. Run it by itself where the\n" +
			"service's database user may not change tables:\n\n   DATABASE_URL=postgres://owner@db/siteapi siteapi migrate",
		Action: o.command(o.migrate),
	}
}

func (o operator) migrate(ctx context.Context, c *cli.Command, s *config.Settings, log zerolog.Logger) error {
	if err := only(c, 0); err != nil {
		return err
	}
	if err := os.MkdirAll(s.DataDir, 0o750); err != nil {
		return fmt.Errorf("DATA_DIR: making the folder: %w", err)
	}
	d, err := openDatabase(ctx, s, work{}, log)
	if err != nil {
		return err
	}
	if err := d.close(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.out, "the tables are up to date")
	return err
}

// storeCommand moves what is stored.
func storeCommand(getenv func(string) string, out io.Writer) *cli.Command {
	o := operator{getenv, out}
	return &cli.Command{
		Name: "store", Usage: "move what is stored to another database", Action: group,
		Description: "   siteapi store copy --from data --to postgres://siteapi@db/siteapi",
		Commands: []*cli.Command{{
			Name: "copy", Usage: "copy sessions, submissions and unfinished deliveries from one database into another",
			Description: "Stop the service before the last copy. A copy that was interrupted is simply repeated: what is there stays.\n\n" +
				"   siteapi store copy --from data --to postgres://siteapi@db/siteapi",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "from", Usage: "the old database: a data folder, or postgres://…; left out: DATA_DIR"},
				&cli.StringFlag{Name: "to", Usage: "the new database: a data folder, or postgres://…; left out: DATABASE_URL"},
			},
			Action: o.command(o.copyStore),
		}},
	}
}

func (o operator) copyStore(ctx context.Context, c *cli.Command, s *config.Settings, log zerolog.Logger) (err error) {
	if err := only(c, 0); err != nil {
		return err
	}
	oldPlace, newPlace := c.String("from"), c.String("to")
	if oldPlace == "" {
		oldPlace = s.DataDir
	}
	if newPlace == "" && s.DatabaseURL != nil {
		newPlace = s.DatabaseURL.String()
	}
	if newPlace == "" {
		return errors.New("--to: name the new database, or set DATABASE_URL")
	}
	if same, err := samePlace(oldPlace, newPlace); err != nil || same {
		return errors.Join(err, errors.New("--from and --to are the same database"))
	}
	from, err := openAt(ctx, s, oldPlace, true, log)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, from.close()) }()
	to, err := openAt(ctx, s, newPlace, false, log)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, to.close()) }()
	unfinished, err := unfinishedIn(ctx, from.queue)
	if err != nil {
		return fmt.Errorf("reading the old deliveries: %w", err)
	}
	report, err := storecopy.Copy(ctx, from.tables, to.tables, unfinished)
	_, printErr := fmt.Fprintf(o.out, "sessions read: %d\nsubmissions read: %d, new: %d, with deliveries to make: %d\n",
		report.Sessions, report.Submissions, report.Created, report.Enqueued)
	return errors.Join(err, printErr)
}

// samePlace reports whether two names mean one database, as far as names can tell.
func samePlace(a, b string) (bool, error) {
	if strings.Contains(a, "://") || strings.Contains(b, "://") {
		return a == b, nil
	}
	absA, errA := filepath.Abs(a)
	absB, errB := filepath.Abs(b)
	return absA == absB, errors.Join(errA, errB)
}

// openAt opens the database of a data folder or at an address, whatever the settings say.
func openAt(ctx context.Context, s *config.Settings, place string, existing bool, log zerolog.Logger) (*database, error) {
	elsewhere := *s
	elsewhere.DatabaseURL = nil
	if strings.Contains(place, "://") {
		u, err := config.DatabaseURL(place)
		if err != nil {
			return nil, err
		}
		elsewhere.DatabaseURL = u
	} else {
		elsewhere.DataDir = place
	}
	if existing {
		return openExisting(ctx, &elsewhere, log)
	}
	if elsewhere.DatabaseURL == nil {
		if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
			if err := os.MkdirAll(place, 0o750); err != nil {
				return nil, err
			}
		}
	}
	return openDatabase(ctx, &elsewhere, work{}, log)
}

// unfinishedIn tells which submissions have deliveries in a queue that did not arrive.
func unfinishedIn(ctx context.Context, q *queue.Queue) (func(context.Context, []string) ([]string, error), error) {
	list, err := q.List(ctx, queue.Filter{States: undelivered()})
	if err != nil {
		return nil, err
	}
	open := make(map[string]bool, len(list))
	for _, d := range list {
		open[d.SubmissionID] = true
	}
	return func(_ context.Context, ids []string) ([]string, error) {
		var found []string
		for _, id := range ids {
			if open[id] {
				found = append(found, id)
			}
		}
		return found, nil
	}, nil
}
