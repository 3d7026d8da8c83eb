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

// Options are the parameters of [Open].
type Options struct {
	Pool *pgxpool.Pool // opened by [OpenPool], and closed by the caller
	Log  *slog.Logger  // logs each applied migration

	// Queue creates deliveries in the store's transactions.
	Queue store.Queue[pgx.Tx]
}

// Store is the [store.Store] in PostgreSQL.
type Store struct {
	*store.Store
	db *database
}

// Open brings the tables up to date.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := migrate(ctx, o.Pool, o.Log); err != nil {
		return nil, Translate(fmt.Errorf("bringing the tables up to date: %w", err))
	}

	db := &database{pool: o.Pool, queue: o.Queue}
	return &Store{store.New(db), db}, nil
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

// Load returns the current load of the store.
func (s *Store) Load() store.Load {
	stats := s.db.pool.Stat()
	return store.Load{Busy: int(stats.AcquiredConns()), Idle: int(stats.IdleConns())}
}

// Sizes returns the size of each table with its indexes, in bytes.
func (s *Store) Sizes(ctx context.Context) (map[string]int64, error) {
	sizes := map[string]int64{}
	err := s.db.Query(ctx, `SELECT relname::text AS table, pg_total_relation_size(oid) AS size
FROM pg_catalog.pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`, nil,
		func(scan store.Scan) error {
			var row struct {
				Table string
				Size  int64
			}
			err := scan(&row)
			sizes[row.Table] = row.Size
			return err
		})
	return sizes, err
}

// Close waits for running writes and closes all connections.
func (s *Store) Close() error {
	s.db.pool.Close()
	return nil
}
