package sqlstore

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

//go:embed migrations
var migrations embed.FS

// Dialect is what differs between the migrations of the databases.
type Dialect struct {
	Folder string // of the migrations
	// Exists counts the table of migrations. IF NOT EXISTS would not do: PostgreSQL asks for
	// the right to create tables even where the table is there.
	Exists string
}

// Migrate brings the tables up to date inside a transaction and returns the names of the
// migrations it applied. The caller makes sure that only one process does this at a time.
// Tables of a newer program are left alone: during a rolling restart the older one goes
// on working with them.
func Migrate(ctx context.Context, tx DB, d Dialect) ([]string, error) {
	var tables, current int64
	if err := one(ctx, tx, d.Exists, nil, &tables); err != nil {
		return nil, fmt.Errorf("looking for the table of migrations: %w", err)
	}
	if tables == 0 {
		if _, err := tx.Exec(ctx, `CREATE TABLE store_migrations (version bigint PRIMARY KEY, name text NOT NULL)`); err != nil {
			return nil, fmt.Errorf("creating the table of migrations: %w", err)
		}
	}
	if err := one(ctx, tx, `SELECT coalesce(max(version), 0) FROM store_migrations`, nil, &current); err != nil {
		return nil, fmt.Errorf("reading the version of the tables: %w", err)
	}
	files, err := fs.ReadDir(migrations, path.Join("migrations", d.Folder))
	if err != nil {
		return nil, fmt.Errorf("listing the migrations: %w", err)
	}
	var applied []string
	for _, f := range files {
		number, _, _ := strings.Cut(f.Name(), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migration %s has no number: %w", f.Name(), err)
		}
		if version <= current {
			continue
		}
		text, err := fs.ReadFile(migrations, path.Join("migrations", d.Folder, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading migration %s: %w", f.Name(), err)
		}
		if _, err := tx.Exec(ctx, string(text)); err != nil {
			return nil, fmt.Errorf("applying migration %s: %w", f.Name(), err)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO store_migrations (version, name) VALUES ($1, $2)`, version, f.Name()); err != nil {
			return nil, fmt.Errorf("recording migration %s: %w", f.Name(), err)
		}
		applied = append(applied, f.Name())
	}
	return applied, nil
}
