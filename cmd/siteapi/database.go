package main

import (
	"cmp"
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

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/operator"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
)

// work holds what this process contributes to the queue. The zero value delivers nothing,
// which suits commands that only read.
type work struct {
	senders  map[queue.Target]queue.Send
	observe  func(queue.Target, queue.Outcome)
	retryMax time.Duration // replaces DELIVERY_RETRY_MAX in tests, unless it is 0
}

// openDatabase opens the database that DATABASE_URL names and brings its tables up to
// date. A command that only reads has no senders.
func openDatabase(
	ctx context.Context, s *config.Settings, w work, log zerolog.Logger,
) (*operator.Database, error) {
	d, opened := &operator.Database{}, &closers{}
	d.Close = opened.close

	options := queue.Options{
		Load: func(ctx context.Context, id string) (lead.Lead, error) {
			return d.Quotes.Submission(ctx, id)
		},
		Targets:  targets(s, w.senders),
		RetryMax: cmp.Or(w.retryMax, s.DeliveryRetryMax),
		Observe:  w.observe,
		Log:      log,
	}

	open := openSQLite
	if s.DatabaseURL != nil {
		open = openPostgres
	}

	if err := open(ctx, s, options, d, opened); err != nil {
		return nil, fmt.Errorf("opening the database (DATABASE_URL, DATA_DIR): %w",
			errors.Join(err, d.Close()))
	}
	return d, nil
}

func openPostgres(
	ctx context.Context, s *config.Settings, o queue.Options, d *operator.Database, opened *closers,
) error {
	url := s.DatabaseURL.String()
	pool, err := postgres.OpenPool(ctx, url)
	if err != nil {
		return err
	}
	opened.add(func() error { pool.Close(); return nil })

	deliveries, hooks, err := queue.New(riverpgxv5.New(pool), o)
	if err == nil {
		err = deliveries.Migrate(ctx)
	}
	if err != nil {
		return err
	}

	tables, err := postgres.Open(ctx, postgres.Options{
		URL:   url,
		Queue: hooks,
		Log:   slog.New(zerolog.NewSlogHandler(o.Log)),
	})
	if err != nil {
		return err
	}
	opened.add(tables.Close)

	d.Quotes, d.Archive, d.Queue, d.Tables, d.Load = tables, tables, deliveries, tables.Store, tables.Load
	d.Truncate = func(context.Context) error { return nil }
	return nil
}

func openSQLite(
	ctx context.Context, s *config.Settings, o queue.Options, d *operator.Database, opened *closers,
) error {
	lock, err := lockDatabase(ctx, s, false)
	if err != nil {
		return err
	}
	opened.add(lock.Close)

	path := filepath.Join(s.DataDir, operator.DatabaseFile)
	pool, err := sqlite.OpenDB(ctx, path)
	if err != nil {
		return err
	}
	opened.add(pool.Close)

	deliveries, hooks, err := queue.New(riversqlite.New(pool), o)
	if err == nil {
		err = deliveries.Migrate(ctx)
	}
	if err != nil {
		return err
	}

	file, err := sqlite.Open(ctx, sqlite.Options{
		Path:  path,
		Pool:  pool,
		Queue: hooks,
		Log:   slog.New(zerolog.NewSlogHandler(o.Log)),
	})
	if err != nil {
		return err
	}
	opened.add(file.Close)

	d.Quotes, d.Archive, d.Queue, d.Tables, d.Load = file, file, deliveries, file.Store, file.Load
	d.Files = []string{path, path + "-wal"}
	d.Truncate = func(ctx context.Context) error { return sqlite.Truncate(ctx, path) }
	return nil
}

// closers close what was opened, in the reverse order.
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

// lockDatabase takes the lock of the SQLite database. It is shared by the processes that
// have the database open; a restore, which replaces the file, takes it alone.
func lockDatabase(ctx context.Context, s *config.Settings, alone bool) (*flock.Flock, error) {
	dir := filepath.Join(s.DataDir, "run")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}

	lock := flock.New(filepath.Join(dir, "open.flock"), flock.SetPermissions(0o640))
	if alone {
		free, err := lock.TryLock()
		if err == nil && !free {
			err = errors.New("the database is in use: stop the service, and commands that work on it, first")
		}
		return lock, err
	}

	// A restore that is under way gets time to end.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()

	_, err := lock.TryRLockContext(ctx, 50*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("a restore is under way")
	}
	return lock, err
}
