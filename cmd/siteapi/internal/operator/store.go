package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/queue"
	"siteapi/integrations/store/storecopy"
	"siteapi/resolvers/leads"
)

func migrate(ctx context.Context, c *call) (err error) {
	if c.db, err = c.OpenDatabase(ctx, c.settings); err == nil {
		c.say("the tables are up to date")
	}
	return err
}

// openExisting opens the database of a service.
func (d Deps) openExisting(ctx context.Context, s *config.Settings) (*Database, error) {
	if err := existing(s); err != nil {
		return nil, err
	}
	return d.OpenDatabase(ctx, s)
}

// existing refuses to create a SQLite database: an empty list would hide a wrong DATA_DIR.
func existing(s *config.Settings) error {
	if s.DatabaseURL != nil || exists(databasePath(s)) {
		return nil
	}
	return fmt.Errorf("there is no database at %s: set DATA_DIR to the folder of the service, or start it once", databasePath(s))
}

func databasePath(s *config.Settings) string { return filepath.Join(s.DataDir, DatabaseFile) }

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
	to, err := openAt(ctx, c.settings, fresh, c.OpenDatabase)
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
