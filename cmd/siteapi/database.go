package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/rs/zerolog"

	"siteapi/integrations/delivery"
	"siteapi/integrations/delivery/riverqueue"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
)

// database is the store with the queue of deliveries on top of it.
type database struct {
	quotes  store.Quotes
	archive store.Archive
	queue   delivery.Queue
	close   func() error
}

// databaseFile is the name of the SQLite file in DATA_DIR.
const databaseFile = "siteapi.db"

// openDatabase opens the database that DATABASE_URL names and brings its tables up to
// date. senders may be nil for a command that only looks.
func openDatabase(
	ctx context.Context, s *Settings, senders map[delivery.Target]delivery.Send, log zerolog.Logger,
) (*database, error) {
	if s.DatabaseURL != nil {
		return nil, errors.New("DATABASE_URL: this scheme is not supported yet")
	}
	return openSQLite(ctx, s, senders, log)
}

func openSQLite(
	ctx context.Context, s *Settings, senders map[delivery.Target]delivery.Send, log zerolog.Logger,
) (_ *database, err error) {
	path, gate := filepath.Join(s.DataDir, databaseFile), &sqlite.Gate{}
	pool, err := sqlite.OpenDB(ctx, path, sqlite.Through(gate))
	if err != nil {
		return nil, fmt.Errorf("opening the database of the deliveries: %w", err)
	}
	pool.SetMaxOpenConns(1) // River's advice for SQLite: its statements then never wait for each other's locks
	d := &database{}
	queue, err := riverqueue.New(riversqlite.New(pool), riverqueue.Options{
		Load:    func(ctx context.Context, id string) (quote.Submission, error) { return d.quotes.Submission(ctx, id) },
		Senders: senders, LockDir: filepath.Join(s.DataDir, "run"), Log: log,
	})
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	if err := queue.Migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("bringing the tables of the deliveries up to date: %w", err), pool.Close())
	}
	file, err := sqlite.Open(ctx, sqlite.Options{
		Path: path, Enqueue: queue.Enqueue, Cancel: queue.Cancel, Gate: gate, Log: slog.New(zerolog.NewSlogHandler(log)),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database: %w", err), pool.Close())
	}
	d.quotes, d.archive, d.queue = file, file, queue
	d.close = func() error { return errors.Join(file.Close(), pool.Close()) }
	return d, nil
}
