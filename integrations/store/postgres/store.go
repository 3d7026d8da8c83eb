// Package postgres is the store in PostgreSQL, for several instances of the service.
//
// A write that has begun is completed within [OperationTimeout] even if its request ends,
// so that its outcome is known. It is retried if it certainly changed nothing.
//
// Known limit: if the connection breaks while a commit is being acknowledged, its outcome
// is unknown. The request is rejected although it may be stored; resubmitting a lead
// returns the stored one. A tracked state may be counted twice.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"siteapi/integrations/store"
)

// New returns the database over a pool. It must be connected before it is used. The queue
// creates deliveries in its transactions.
func New(pool *pgxpool.Pool, queue store.Queue[pgx.Tx]) *Database { return &Database{pool, queue} }

// Connect checks that the database answers, and brings its tables up to date. log gets a
// line for each applied migration. A refused login is no transient error, as it would be
// later: it is more likely wrong than being changed.
func (d *Database) Connect(ctx context.Context, log *slog.Logger) error {
	if err := d.pool.Ping(ctx); err != nil {
		err = fmt.Errorf("connecting to PostgreSQL: %w", err)
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code[:2] == "28" {
			return err
		}
		return Translate(err)
	}

	if err := migrate(ctx, d.pool, log); err != nil {
		return Translate(fmt.Errorf("bringing the tables up to date: %w", err))
	}
	return nil
}

// Close closes the pool.
func (d *Database) Close() error {
	d.pool.Close()
	return nil
}

// Truncate does nothing: PostgreSQL has no log that keeps deleted data beside the archive.
func (d *Database) Truncate(context.Context) error { return nil }

// migrationLock is the key of the advisory lock that guards migrations.
const migrationLock = 0x73697465617069 // "siteapi"

// migrate changes the tables in one transaction. Instances that start at the same time
// migrate one after the other. Migrations have no time limit.
func migrate(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx,
			`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'`); err != nil {
			return fmt.Errorf("lifting the limits: %w", err)
		}

		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
			return fmt.Errorf("waiting for the lock: %w", err)
		}

		// Other encodings refuse or change names.
		var encoding string
		if err := tx.QueryRow(ctx, `SHOW server_encoding`).Scan(&encoding); err != nil {
			return fmt.Errorf("reading the encoding: %w", err)
		}
		if encoding != "UTF8" {
			return fmt.Errorf("the database has the encoding %s: create one with UTF8 "+
				"(createdb --encoding=UTF8 --template=template0) and set DATABASE_URL to it", encoding)
		}

		return store.Migrate(ctx, session{tx}, log, "postgres",
			`SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('store_migrations')`)
	})
}

// Load returns the current load of the pool.
func (d *Database) Load() store.Load {
	stats := d.pool.Stat()
	return store.Load{Busy: int(stats.AcquiredConns()), Idle: int(stats.IdleConns())}
}

// Sizes returns the size of each table with its indexes, in bytes.
func (d *Database) Sizes(ctx context.Context) (map[string]int64, error) {
	rows, err := d.pool.Query(ctx, `SELECT relname::text, pg_total_relation_size(oid)
FROM pg_catalog.pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`)
	if err != nil {
		return nil, err
	}

	sizes := map[string]int64{}
	var table string
	var size int64
	_, err = pgx.ForEachRow(rows, []any{&table, &size}, func() error { sizes[table] = size; return nil })
	return sizes, err
}
