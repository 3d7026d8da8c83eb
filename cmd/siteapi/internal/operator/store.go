package operator

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/store/storecopy"
	"siteapi/resolvers/leads"
)

func (d Drivers) migrateCommand() *cobra.Command {
	return d.command("migrate",
		"create the tables or bring them up to date, as every start does, and stop",
		databaseSettings(), plain(migrate),
		"siteapi migrate")
}

func (d Drivers) storeCommands() *cobra.Command {
	return group("store", "copy the stored data to PostgreSQL",
		d.command("copy", "copy sessions, submissions and unfinished deliveries from "+
			"SQLite in DATA_DIR to PostgreSQL at DATABASE_URL",
			databaseSettings(), plain(copyStore),
			"siteapi store copy"))
}

func migrate(ctx context.Context, c *call) (err error) {
	if c.db, err = c.drivers.OpenDatabase(ctx, c.settings); err == nil {
		c.say("the tables are up to date")
	}
	return err
}

// copyStore copies from the SQLite file in DATA_DIR to the database at DATABASE_URL.
func copyStore(ctx context.Context, c *call) (err error) {
	if c.settings.DatabaseURL == nil {
		return errors.New("set DATABASE_URL to the new database: the old one is the SQLite file in DATA_DIR")
	}

	old := *c.settings
	old.DatabaseURL = nil
	from, err := c.drivers.openExisting(ctx, &old)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()

	if c.db, err = c.drivers.OpenDatabase(ctx, c.settings); err != nil {
		return err
	}

	unfinished := func(ctx context.Context, ids []string) ([]store.Delivery, error) {
		// A delivery that has ended may have read a lead before it changed.
		changed, err := from.Queue.Changed(ctx)
		if err != nil {
			return nil, err
		}
		list, err := from.Queue.List(ctx, queue.Filter{States: leads.Undelivered(), Leads: ids})
		for _, d := range list {
			changed = append(changed, store.Delivery{LeadID: d.LeadID, Target: string(d.Target)})
		}

		// A lead that has changed several times, or whose delivery waits as well, is there again.
		seen := map[store.Delivery]bool{}
		return slices.DeleteFunc(changed, func(d store.Delivery) bool {
			again := seen[d]
			seen[d] = true
			return again || !slices.Contains(ids, d.LeadID)
		}), err
	}

	report, err := storecopy.Copy(ctx, from.Tables, c.db.Tables, unfinished)
	c.say("sessions read: %d\nsubmissions read: %d, new: %d, with deliveries to make: %d",
		report.Sessions, report.Leads, report.Created, report.Enqueued)
	return err
}
