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

// Dialect names the SQL of a database: a folder of migrations.
type Dialect string

// The dialects there are migrations for.
const (
	SQLite     Dialect = "sqlite"
	PostgreSQL Dialect = "postgres"
)

// tableExists counts the table of migrations. IF NOT EXISTS would not do: PostgreSQL asks
// for the right to create tables even where the table is there.
var tableExists = map[Dialect]string{
	SQLite:     `SELECT count(*) FROM sqlite_master WHERE name = 'store_migrations'`,
	PostgreSQL: `SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('store_migrations')`,
}

//go:embed migrations
var migrations embed.FS

// Migrate brings the tables up to date inside the transaction db and returns the
// names of the migrations it applied. The caller sees to it that only one process
// does this at a time. A database that knows more migrations than this program is
// left alone: during a rolling restart the older program goes on working with it.
func Migrate(ctx context.Context, db DB, d Dialect) ([]string, error) {
	var tables int64
	if err := one(ctx, db, tableExists[d], nil, &tables); err != nil {
		return nil, fmt.Errorf("looking for the table of migrations: %w", err)
	}
	if tables == 0 {
		if _, err := db.Exec(ctx, `CREATE TABLE store_migrations (version bigint PRIMARY KEY, name text NOT NULL)`); err != nil {
			return nil, fmt.Errorf("creating the table of migrations: %w", err)
		}
	}
	var current int64
	if err := one(ctx, db, `SELECT coalesce(max(version), 0) FROM store_migrations`, nil, &current); err != nil {
		return nil, fmt.Errorf("reading the version of the tables: %w", err)
	}
	files, err := fs.ReadDir(migrations, path.Join("migrations", string(d)))
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
		text, err := fs.ReadFile(migrations, path.Join("migrations", string(d), f.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading migration %s: %w", f.Name(), err)
		}
		if _, err := db.Exec(ctx, string(text)); err != nil {
			return nil, fmt.Errorf("applying migration %s: %w", f.Name(), err)
		}
		_, err = db.Exec(ctx, `INSERT INTO store_migrations (version, name) VALUES ($1, $2)`, version, f.Name())
		if err != nil {
			return nil, fmt.Errorf("recording migration %s: %w", f.Name(), err)
		}
		applied = append(applied, f.Name())
	}
	return applied, nil
}
