package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/queue"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
	"siteapi/resolvers/content"
	"siteapi/schema"
)

// openDatabase opens the database of DATABASE_URL and the delivery queue in it, and
// migrates their tables.
func (d drivers) openDatabase(ctx context.Context, s *config.Settings) (*command.Database, error) {
	receivers, err := d.openReceivers(s)
	if err != nil {
		return nil, err
	}

	options := queue.Options{
		Targets:     targets(s),
		Receivers:   receivers,
		ContentKeys: content.Keys(schema.Locales()),
		RetryMax:    s.DeliveryRetryMax,
		Observe:     d.Metrics.Delivery,
		Log:         d.log,
	}

	open := openSQLite
	if s.DatabaseURL != nil {
		open = openPostgres
	}

	opened := &closers{}
	db, err := open(ctx, s, options, opened)
	if err != nil {
		err = errors.Join(err, opened.close())
		return nil, fmt.Errorf("opening the database (DATABASE_URL, DATA_DIR): %w", err)
	}
	db.Close = opened.close
	return db, nil
}

// openPostgres opens the store and the queue on one connection pool.
func openPostgres(
	ctx context.Context, s *config.Settings, o queue.Options, opened *closers,
) (*command.Database, error) {
	url := s.DatabaseURL.String()
	pool, err := postgres.OpenPool(ctx, url)
	if err != nil {
		return nil, err
	}
	opened.add(func() error { pool.Close(); return nil })

	river := riverpgxv5.New(pool)
	inTransaction, err := queue.InTransactions(river, o)
	if err != nil {
		return nil, err
	}
	tables, err := postgres.Open(ctx, postgres.Options{
		Pool:  pool,
		Log:   slog.New(zerolog.NewSlogHandler(o.Log)),
		Queue: inTransaction,
	})
	if err != nil {
		return nil, err
	}
	if err := migrateQueue(ctx, url, o.Log); err != nil {
		return nil, err
	}

	o.Store = tables.Store
	jobs, err := queue.New(river, o)
	if err != nil {
		return nil, err
	}

	return &command.Database{
		Store:    tables.Store,
		Queue:    jobs,
		Load:     tables.Load,
		Sizes:    tables.Sizes,
		Truncate: func(context.Context) error { return nil },
	}, nil
}

// migrateQueue migrates the tables of the queue on a connection without timeouts. The
// store is migrated first, since it checks that the database belongs to this service.
func migrateQueue(ctx context.Context, url string, log zerolog.Logger) error {
	pool, err := postgres.OpenMigrationPool(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	return queue.Migrate(ctx, riverpgxv5.New(pool), log)
}

// openSQLite locks the database file, and opens the store and the queue on it.
func openSQLite(
	ctx context.Context, s *config.Settings, o queue.Options, opened *closers,
) (*command.Database, error) {
	lock, err := lockDatabase(ctx, s, false)
	if err != nil {
		return nil, err
	}
	opened.add(lock.Close)

	path := filepath.Join(s.DataDir, command.DatabaseFile)
	pool, err := sqlite.OpenDB(ctx, path)
	if err != nil {
		return nil, err
	}
	opened.add(pool.Close)

	river := riversqlite.New(pool)
	inTransaction, err := queue.InTransactions(river, o)
	if err != nil {
		return nil, err
	}
	tables, err := sqlite.Open(ctx, sqlite.Options{
		Path:  path,
		Pool:  pool,
		Log:   slog.New(zerolog.NewSlogHandler(o.Log)),
		Queue: inTransaction,
	})
	if err != nil {
		return nil, err
	}
	opened.add(tables.Close)
	if err := queue.Migrate(ctx, river, o.Log); err != nil {
		return nil, err
	}

	o.Store = tables.Store
	jobs, err := queue.New(river, o)
	if err != nil {
		return nil, err
	}

	return &command.Database{
		Store:    tables.Store,
		Queue:    jobs,
		Load:     tables.Load,
		Files:    []string{path, path + "-wal"},
		Truncate: func(ctx context.Context) error { return sqlite.Truncate(ctx, path) },
	}, nil
}

// closers closes opened systems in reverse order.
type closers []func() error

func (c *closers) add(closing func() error) { *c = append(*c, closing) }

func (c *closers) close() error {
	var err error
	for _, closing := range slices.Backward(*c) {
		err = errors.Join(err, closing())
	}
	*c = nil
	return err
}

// lockDatabase locks the SQLite database. Processes that use the database share the lock.
// A restore replaces the file, so its lock is exclusive.
func lockDatabase(ctx context.Context, s *config.Settings, alone bool) (*flock.Flock, error) {
	dir := filepath.Join(s.DataDir, "run")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}

	lock := flock.New(filepath.Join(dir, "open.flock"), flock.SetPermissions(0o640))
	if alone {
		free, err := lock.TryLock()
		if err == nil && !free {
			err = errors.New("the database is in use: stop the service and running commands first")
		}
		return lock, err
	}

	// A running restore gets time to finish.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()

	_, err := lock.TryRLockContext(ctx, 50*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("a restore is running")
	}
	return lock, err
}
