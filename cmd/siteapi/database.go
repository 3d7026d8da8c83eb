package main

import (
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
	"siteapi/integrations/delivery"
	"siteapi/integrations/delivery/riverqueue"
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
	queue   delivery.Queue
	tables  *storecopy.Store // what can be copied elsewhere
	load    func() store.Load
	close   func() error
}

// work is what the queue does for this process. The zero value does nothing, which is
// right for a command that only looks.
type work struct {
	senders map[delivery.Target]delivery.Send
	observe func(delivery.Event)
	overdue func(number int64, oldest time.Time)
	timing  riverqueue.Timing // zero fields follow from the settings
}

// How many leads one instance brings to a target at a time.
const (
	cmsConcurrency = 8
	crmConcurrency = 4
)

// databaseFile is the name of the SQLite file in DATA_DIR.
const databaseFile = "siteapi.db"

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
	queue, err := riverqueue.New(riverpgxv5.New(pool), d.queueOptions(s, w, log))
	if err == nil {
		err = queue.Migrate(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("preparing the deliveries: %w", err)
	}
	tables, err := postgres.Open(ctx, postgres.Options{
		URL: s.DatabaseURL.String(), Queue: queue, Log: slog.New(zerolog.NewSlogHandler(log)),
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	d.quotes, d.archive, d.queue, d.tables = tables, tables, queue, tables.Store
	d.load = tables.Load
	d.close = func() error {
		err := tables.Close()
		pool.Close()
		return err
	}
	return d, nil
}

// queueOptions are what the queue is built from, whatever the database.
func (d *database) queueOptions(
	s *config.Settings, w work, log zerolog.Logger,
) riverqueue.Options {
	return riverqueue.Options{
		Load:    func(ctx context.Context, id string) (quote.Submission, error) { return d.quotes.Submission(ctx, id) },
		Senders: w.senders, Observe: w.observe, Overdue: w.overdue, LockDir: filepath.Join(s.DataDir, "run"), Log: log,
		Limits: map[delivery.Target]riverqueue.Limit{
			delivery.CMS: {Concurrency: cmsConcurrency, PerSecond: s.CMSRate}, delivery.CRM: {Concurrency: crmConcurrency, PerSecond: s.CRMRate},
		},
		Timing: deliveryTiming(s, w.timing), MaxAttempts: deliveryAttempts(s.DeliveryRetryMax), CircuitFailures: circuitFailures,
	}
}

func openSQLite(
	ctx context.Context, s *config.Settings, w work, log zerolog.Logger,
) (_ *database, err error) {
	lock, err := joinDatabase(ctx, s)
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
	queue, err := riverqueue.New(riversqlite.New(pool), d.queueOptions(s, w, log))
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	if err := queue.Migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("bringing the tables of the deliveries up to date: %w", err), pool.Close())
	}
	file, err := sqlite.Open(ctx, sqlite.Options{
		Path: path, Pool: pool, Queue: queue, Log: slog.New(zerolog.NewSlogHandler(log)),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database: %w", err), pool.Close())
	}
	d.quotes, d.archive, d.queue, d.tables = &diskWriter{Quotes: file}, file, queue, file.Store
	d.load = file.Load
	d.close = func() error { return errors.Join(file.Close(), pool.Close(), lock.Close()) }
	return d, nil
}
