package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/systems"
)

func (d commands) migrateCommand() *cobra.Command {
	return d.command("migrate",
		"create or update the tables, as every start does, and exit",
		databaseSettings(), migrate,
		"siteapi migrate")
}

func (d commands) storeCommands() *cobra.Command {
	return group("store", "copy the stored data to PostgreSQL",
		d.command("copy", "copy all data from SQLite in DATA_DIR to an empty PostgreSQL at "+
			"DATABASE_URL, which then sends the pending deliveries",
			databaseSettings(), copyStore,
			"siteapi store copy"))
}

func migrate(ctx context.Context, c *call) (err error) {
	if c.db, err = c.open.Database(ctx); err == nil {
		c.printLine("the tables are up to date")
	}
	return err
}

// copyStore copies the SQLite file in DATA_DIR to the database at DATABASE_URL. It prints
// the number of copied rows.
func copyStore(ctx context.Context, c *call) (err error) {
	if c.settings.DatabaseURL == nil {
		return errors.New("set DATABASE_URL to the new database: the source is the SQLite file in DATA_DIR")
	}

	sqlite := *c.settings
	sqlite.DatabaseURL = nil
	source := c.open
	source.Settings, source.Alone = &sqlite, true // a lead accepted meanwhile would be missing
	from, err := source.ExistingDatabase(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()

	if c.db, err = c.open.Database(ctx); err != nil {
		return err
	}

	copied, err := from.Store.CopyTo(ctx, c.db.Store)
	for _, table := range copied {
		c.printLine("%s: %d rows", table.Table, table.Rows)
	}
	if err != nil {
		return fmt.Errorf("copying to the database at DATABASE_URL, which must be empty: %w", err)
	}

	old := systems.DatabasePath(c.settings)
	c.printLine("%s keeps everybody, also who is erased from PostgreSQL later. Once the service "+
		"runs on PostgreSQL, delete it, with %[1]s-wal and %[1]s-shm", old)
	return nil
}
