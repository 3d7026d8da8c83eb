package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
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
	files   []string // of SQLite
	closers []func() error
}

// work is what the queue does for this process. The zero value does nothing, which is
// right for a command that only looks.
type work struct {
	senders  map[queue.Target]queue.Send
	observe  func(queue.Target, queue.Outcome)
	retryMax time.Duration // instead of DELIVERY_RETRY_MAX, for tests; 0: that
}

// openDatabase opens the database that DATABASE_URL names and brings its tables up to
// date. A command that only looks has no senders.
func openDatabase(ctx context.Context, s *config.Settings, w work, log zerolog.Logger) (_ *database, err error) {
	d := &database{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	options := queue.Options{
		Load:     func(ctx context.Context, id string) (quote.Submission, error) { return d.quotes.Submission(ctx, id) },
		Targets:  targets(s, w.senders),
		RetryMax: cmp.Or(w.retryMax, s.DeliveryRetryMax), Observe: w.observe, Log: log,
	}
	if s.DatabaseURL != nil {
		return d, d.openPostgres(ctx, s.DatabaseURL.String(), options)
	}
	return d, d.openSQLite(ctx, s, options)
}

func (d *database) openPostgres(ctx context.Context, url string, o queue.Options) error {
	pool, err := postgres.OpenPool(ctx, url)
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	d.closers = append(d.closers, func() error { pool.Close(); return nil })
	deliveries, hooks, err := queue.New(riverpgxv5.New(pool), o)
	if err != nil {
		return err
	}
	if err := deliveries.Migrate(ctx); err != nil {
		return fmt.Errorf("preparing the deliveries: %w", err)
	}
	tables, err := postgres.Open(ctx, postgres.Options{URL: url, Queue: hooks, Log: slog.New(zerolog.NewSlogHandler(o.Log))})
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	d.closers = append(d.closers, tables.Close)
	d.quotes, d.archive, d.queue, d.tables, d.load = tables, tables, deliveries, tables.Store, tables.Load
	return nil
}

func (d *database) openSQLite(ctx context.Context, s *config.Settings, o queue.Options) error {
	lock, err := shareDatabase(ctx, s)
	if err != nil {
		return err
	}
	path := filepath.Join(s.DataDir, operator.DatabaseFile)
	pool, err := sqlite.OpenDB(ctx, path)
	if err != nil {
		return errors.Join(fmt.Errorf("opening the database: %w", err), lock.Close())
	}
	d.closers = append(d.closers, lock.Close, pool.Close)
	deliveries, hooks, err := queue.New(riversqlite.New(pool), o)
	if err != nil {
		return err
	}
	if err := deliveries.Migrate(ctx); err != nil {
		return err
	}
	file, err := sqlite.Open(ctx, sqlite.Options{Path: path, Pool: pool, Queue: hooks, Log: slog.New(zerolog.NewSlogHandler(o.Log))})
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	d.closers = append(d.closers, file.Close)
	d.files = []string{path, path + "-wal"}
	d.quotes, d.archive, d.queue, d.tables, d.load = file, file, deliveries, file.Store, file.Load
	return nil
}

// truncate has the database forget what was removed: SQLite keeps it in its log for a while.
func (d *database) truncate(ctx context.Context) error {
	if len(d.files) == 0 {
		return nil
	}
	return sqlite.Truncate(ctx, d.files[0])
}

// close closes what was opened, the last first.
func (d *database) close() error {
	var err error
	for _, c := range slices.Backward(d.closers) {
		err = errors.Join(err, c())
	}
	d.closers = nil
	return err
}
