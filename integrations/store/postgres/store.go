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
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"siteapi/integrations/store"
)

// Open brings the tables up to date and returns the store over a pool, which the caller
// closes. The queue creates deliveries in the store's transactions, and log gets a line
// for each applied migration.
func Open(
	ctx context.Context, pool *pgxpool.Pool, log *slog.Logger, queue store.Queue[pgx.Tx],
) (*store.Store, error) {
	if err := migrate(ctx, pool, log); err != nil {
		return nil, Translate(fmt.Errorf("bringing the tables up to date: %w", err))
	}
	return store.New(&database{pool, queue}), nil
}

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

		return store.Migrate(ctx, session{tx}, log, "postgres",
			`SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('store_migrations')`)
	})
}

// Load returns the current load of a pool.
func Load(pool *pgxpool.Pool) store.Load {
	stats := pool.Stat()
	return store.Load{Busy: int(stats.AcquiredConns()), Idle: int(stats.IdleConns())}
}

// Sizes returns the size of each table with its indexes, in bytes.
func Sizes(ctx context.Context, pool *pgxpool.Pool) (map[string]int64, error) {
	rows, err := pool.Query(ctx, `SELECT relname::text, pg_total_relation_size(oid)
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
