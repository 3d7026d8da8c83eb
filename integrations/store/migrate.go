package store

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

// Migrate applies the migrations of a folder inside a transaction. The query exists
// counts the table of migrations. IF NOT EXISTS is not enough, since PostgreSQL requires
// the right to create tables even if the table exists.
//
// The caller ensures that only one process migrates at a time and that nothing else is
// written before. A database created by other migrations is rejected. Tables of a newer
// program are left alone: during a rolling restart the older program keeps working with
// them.
func Migrate(ctx context.Context, tx DB, log *slog.Logger, folder, exists string) error {
	tables, err := one[int](ctx, tx, "finding the table of migrations", exists)
	if err != nil {
		return err
	}
	if tables == 0 {
		_, err := tx.Exec(ctx, `CREATE TABLE store_migrations (
  version bigint PRIMARY KEY, name text NOT NULL, checksum text NOT NULL)`)
		if err != nil {
			return fmt.Errorf("creating the table of migrations: %w", err)
		}
	}

	files, err := fs.ReadDir(migrations, path.Join("migrations", folder))
	if err != nil {
		return fmt.Errorf("listing the migrations: %w", err)
	}
	for i, f := range files {
		version := i + 1 // Files are numbered from 1.
		text, err := fs.ReadFile(migrations, path.Join("migrations", folder, f.Name()))
		if err != nil {
			return fmt.Errorf("reading migration %s: %w", f.Name(), err)
		}
		if err := apply(ctx, tx, log, version, f.Name(), string(text)); err != nil {
			return fmt.Errorf("migration %s: %w", f.Name(), err)
		}
	}
	return nil
}

// apply runs a migration unless it was applied before.
func apply(ctx context.Context, tx DB, log *slog.Logger, version int, name, text string) error {
	// A table of an earlier version may have other columns.
	recorded, err := all[map[string]any](ctx, tx, "reading the migrations",
		`SELECT * FROM store_migrations WHERE version = $1`, version)
	if err != nil {
		return err
	}
	if len(recorded) > 0 && recorded[0]["name"] == name && recorded[0]["checksum"] == digest(text) {
		return nil
	}
	if len(recorded) > 0 {
		return fmt.Errorf("the database was created by a different, unreleased version of siteapi (its "+
			"first migration is %s), which this version cannot read. Nothing was changed. To keep "+
			"its leads, run `siteapi leads export` with that version, then start this one with "+
			"an empty DATA_DIR or an empty database at DATABASE_URL",
			recorded[0]["name"])
	}

	log.Info("applying a migration", "migration", name)
	if _, err := tx.Exec(ctx, text); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO store_migrations (version, name, checksum) VALUES ($1, $2, $3)`,
		version, name, digest(text))
	return err
}
