package sqlstore

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
)

//go:embed migrations
var migrations embed.FS

// Migrate brings the tables up to date inside a transaction, with the migrations of a
// folder. The query exists counts the table of migrations. IF NOT EXISTS would not do,
// since PostgreSQL requires the right to create tables even if the table is there.
//
// The caller makes sure that only one process migrates at a time. Tables of a newer
// program are left alone: during a rolling restart the older program goes on working with
// them.
func Migrate(ctx context.Context, tx DB, log *slog.Logger, folder, exists string) error {
	var tables, current int
	if err := one(ctx, tx, exists, nil, &tables); err != nil {
		return fmt.Errorf("looking for the table of migrations: %w", err)
	}
	if tables == 0 {
		if _, err := tx.Exec(ctx,
			`CREATE TABLE store_migrations (version bigint PRIMARY KEY, name text NOT NULL)`); err != nil {
			return fmt.Errorf("creating the table of migrations: %w", err)
		}
	}

	if err := one(ctx, tx,
		`SELECT coalesce(max(version), 0) FROM store_migrations`, nil, &current); err != nil {
		return fmt.Errorf("reading the version of the tables: %w", err)
	}

	files, err := fs.ReadDir(migrations, path.Join("migrations", folder))
	if err != nil {
		return fmt.Errorf("listing the migrations: %w", err)
	}

	for i, f := range files {
		version := i + 1 // Files are numbered from 1.
		if version <= current {
			continue
		}

		text, err := fs.ReadFile(migrations, path.Join("migrations", folder, f.Name()))
		if err != nil {
			return fmt.Errorf("reading migration %s: %w", f.Name(), err)
		}

		log.Info("applying a migration", "migration", f.Name())
		if _, err := tx.Exec(ctx, string(text)); err != nil {
			return fmt.Errorf("applying migration %s: %w", f.Name(), err)
		}
		if _, err := tx.Exec(ctx,
			`INSERT INTO store_migrations (version, name) VALUES ($1, $2)`, version, f.Name()); err != nil {
			return fmt.Errorf("recording migration %s: %w", f.Name(), err)
		}
	}
	return nil
}
