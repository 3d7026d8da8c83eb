package postgres

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"siteapi/integrations/store/internal/sqlstore"
)

// migrationLock is the key of the advisory lock under which tables are changed.
const migrationLock = 0x73697465617069 // "siteapi"

// migrate brings the tables up to date in one transaction. Instances that start at
// the same time do it one after the other; a migration may take its time.
func migrate(ctx context.Context, p *pgxpool.Pool, log *slog.Logger) error {
	var names []string
	err := pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'`)
		if err != nil {
			return fmt.Errorf("lifting the limits: %w", err)
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
			return fmt.Errorf("waiting for the lock: %w", err)
		}
		names, err = sqlstore.Migrate(ctx, executor{tx}, sqlstore.PostgreSQL)
		return err
	})
	if err != nil {
		return translate("bringing the tables up to date", err)
	}
	for _, name := range names {
		log.Info("applied a migration", "migration", name)
	}
	return nil
}
