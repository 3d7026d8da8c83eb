package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/operator"
	"siteapi/integrations/queue"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storecopy"
)

// database is the store with the queue of deliveries on top of it.
type database struct {
	quotes  store.Quotes
	archive store.Archive
	queue   *queue.Queue
	tables  *storecopy.Store // what can be copied elsewhere
	load    func() store.Load
	close   func() error
}

// work is what the queue does for this process. The zero value does nothing, which is
// right for a command that only looks.
type work struct {
	senders  map[queue.Target]queue.Send
	observe  func(queue.Target, queue.Outcome)
	retryMax time.Duration // instead of DELIVERY_RETRY_MAX, for tests; 0: that
}

// databaseFile is the name of the SQLite file in DATA_DIR.
const databaseFile = operator.DatabaseFile

// databaseFiles are the files whose size is of interest; PostgreSQL has none.
func databaseFiles(s *config.Settings) []string {
	if s.DatabaseURL != nil {
		return nil
	}
	path := filepath.Join(s.DataDir, databaseFile)
	return []string{path, path + "-wal"}
}

// truncateDatabase has the database forget what was removed: SQLite keeps it in its log for a while.
func truncateDatabase(ctx context.Context, s *config.Settings) error {
	if s.DatabaseURL != nil {
		return nil
	}
	return sqlite.Truncate(ctx, filepath.Join(s.DataDir, databaseFile))
}

// openDatabase opens the database that DATABASE_URL names and brings its tables up to
// date. A command that only looks has no senders.
func openDatabase(
	ctx context.Context, s *config.Settings, w work, log zerolog.Logger,
) (*database, error) {
	if s.DatabaseURL != nil {
		return openPostgres(ctx, s, w, log)
	}
	return openSQLite(ctx, s, w, log)
}

func openPostgres(
	ctx context.Context, s *config.Settings, w work, log zerolog.Logger,
) (*database, error) {
	pool, err := postgres.OpenPool(ctx, s.DatabaseURL.String())
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	d := &database{}
	deliveries, hooks, err := queue.New(riverpgxv5.New(pool), d.queueOptions(s, w, log))
	if err == nil {
		err = deliveries.Migrate(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("preparing the deliveries: %w", err)
	}
	tables, err := postgres.Open(ctx, postgres.Options{
		URL: s.DatabaseURL.String(), Queue: hooks, Log: slog.New(zerolog.NewSlogHandler(log)),
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	d.quotes, d.archive, d.queue, d.tables = tables, tables, deliveries, tables.Store
	d.load = tables.Load
	d.close = func() error {
		err := tables.Close()
		pool.Close()
		return err
	}
	return d, nil
}

// queueOptions are what the queue is built from, whatever the database.
func (d *database) queueOptions(s *config.Settings, w work, log zerolog.Logger) queue.Options {
	return queue.Options{
		Load:     func(ctx context.Context, id string) (quote.Submission, error) { return d.quotes.Submission(ctx, id) },
		Targets:  targets(s, w.senders),
		RetryMax: cmp.Or(w.retryMax, s.DeliveryRetryMax), Observe: w.observe, Log: log,
	}
}

func openSQLite(
	ctx context.Context, s *config.Settings, w work, log zerolog.Logger,
) (_ *database, err error) {
	lock, err := shareDatabase(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	path := filepath.Join(s.DataDir, databaseFile)
	pool, err := sqlite.OpenDB(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	d := &database{}
	deliveries, hooks, err := queue.New(riversqlite.New(pool), d.queueOptions(s, w, log))
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	if err := deliveries.Migrate(ctx); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	file, err := sqlite.Open(ctx, sqlite.Options{
		Path: path, Pool: pool, Queue: hooks, Log: slog.New(zerolog.NewSlogHandler(log)),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database: %w", err), pool.Close())
	}
	d.quotes, d.archive, d.queue, d.tables = file, file, deliveries, file.Store
	d.load = file.Load
	d.close = func() error { return errors.Join(file.Close(), pool.Close(), lock.Close()) }
	return d, nil
}
