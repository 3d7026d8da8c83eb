package systems

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
	"siteapi/resolvers/content"
	"siteapi/resolvers/health"
	"siteapi/schema"
)

// Database is the database of the service with its delivery queue. It is unavailable until
// it is connected.
type Database struct {
	Store *store.Store
	Queue *queue.Queue
	databaseDriver

	opener Opener
	handle *store.Handle
	lock   *flock.Flock // of SQLite

	// migrateQueue migrates the tables of the queue. The store is migrated first, since it
	// checks that the database belongs to this service.
	migrateQueue func(ctx context.Context) error
}

// databaseDriver is implemented by every driver of the store.
type databaseDriver interface {
	store.Database
	Connect(ctx context.Context, log *slog.Logger) error
	Close() error

	Load() store.Load
	Sizes(ctx context.Context) (map[string]int64, error) // bytes of the tables with their indexes
	Truncate(ctx context.Context) error                  // removes deleted data from the log
}

// ExistingDatabase opens the database of a service. It fails if there is none.
func (o Opener) ExistingDatabase(ctx context.Context) (*Database, error) {
	if err := CheckDatabase(o.Settings); err != nil {
		return nil, err
	}
	return o.Database(ctx)
}

// CheckDatabase returns an error if SQLite is used and its database does not exist. Commands
// must not create it, since an empty list would hide a wrong DATA_DIR.
func CheckDatabase(s *config.Settings) error {
	if s.DatabaseURL != nil {
		return nil
	}
	if err := refuseOld(s); err != nil {
		return err
	}

	_, err := os.Lstat(DatabasePath(s))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database at %s: "+
			"set DATA_DIR to the folder of the service, or start the service once (%w)",
			DatabasePath(s), health.ErrNotCreated)
	}
	if err != nil {
		return fmt.Errorf("looking for the database (DATA_DIR): %w", err)
	}
	return nil
}

// DatabasePath returns the path of the SQLite file.
func DatabasePath(s *config.Settings) string { return filepath.Join(s.DataDir, DatabaseFile) }

// DatabaseIdle reports whether no process uses the SQLite database, and thus no service
// is running. It is always false with PostgreSQL, where this is unknown.
func DatabaseIdle(s *config.Settings) bool {
	if s.DatabaseURL != nil || CheckDatabase(s) != nil {
		return false
	}
	lock := databaseLock(s)
	free, err := lock.TryLock()
	return errors.Join(err, lock.Close()) == nil && free
}

// Database opens the database of DATABASE_URL and the delivery queue in it, and
// migrates their tables.
func (o Opener) Database(ctx context.Context) (*Database, error) {
	d, err := o.NewDatabase(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.Connect(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// NewDatabase returns the database of DATABASE_URL, which is not connected yet.
func (o Opener) NewDatabase(ctx context.Context) (*Database, error) {
	receivers, err := o.Receivers()
	if err != nil {
		return nil, err
	}
	options := queue.Options{
		Targets:     o.targets(),
		Receivers:   receivers,
		ContentKeys: content.Keys(schema.Locales()),
		RetryMax:    o.Settings.DeliveryRetryMax,
		Observe:     o.Metrics.Delivery,
		Log:         o.Log,
	}

	d := &Database{opener: o}
	if o.Settings.DatabaseURL != nil {
		err = d.usePostgres(ctx, options)
	} else {
		err = d.useSQLite(options)
	}
	if err != nil {
		return nil, fmt.Errorf("setting up the database: %w", err)
	}
	d.Store = d.Queue.Store
	return d, nil
}

// usePostgres sets up the store and the queue on one connection pool.
func (d *Database) usePostgres(ctx context.Context, o queue.Options) error {
	url := d.opener.Settings.DatabaseURL.String()
	pool, err := postgres.NewPool(ctx, url)
	if err != nil {
		return err
	}

	d.Queue, err = queue.New(riverpgxv5.New(pool), o, func(jobs store.Queue[pgx.Tx]) (*store.Store, error) {
		d.databaseDriver = postgres.New(pool, jobs)
		d.handle = store.NewHandle(d.databaseDriver)
		return store.New(d.handle), nil
	})
	d.migrateQueue = func(ctx context.Context) error {
		pool, err := postgres.NewMigrationPool(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		return postgres.Translate(queue.Migrate(ctx, riverpgxv5.New(pool), o.Log))
	}
	return err
}

// useSQLite sets up the store and the queue on the database file.
func (d *Database) useSQLite(o queue.Options) error {
	path := DatabasePath(d.opener.Settings)
	pool, err := sqlite.NewPool(path)
	if err != nil {
		return err
	}

	river := riversqlite.New(pool)
	d.lock = databaseLock(d.opener.Settings)
	d.Queue, err = queue.New(river, o, func(jobs store.Queue[*sql.Tx]) (*store.Store, error) {
		db, err := sqlite.New(path, pool, jobs)
		d.databaseDriver, d.handle = db, store.NewHandle(db)
		return store.New(d.handle), err
	})
	d.migrateQueue = func(ctx context.Context) error {
		return sqlite.Translate(queue.Migrate(ctx, river, o.Log))
	}
	return err
}

// Connect connects the database and migrates its tables, unless it is connected. An error
// that is not [store.ErrUnavailable] can only be mended by a person.
func (d *Database) Connect(ctx context.Context) error {
	err := d.handle.Connect(func() error {
		if err := d.lockFile(ctx); err != nil {
			return err
		}
		if err := d.databaseDriver.Connect(ctx, slog.New(zerolog.NewSlogHandler(d.opener.Log))); err != nil {
			return err
		}
		if err := d.migrateQueue(ctx); err != nil {
			return err
		}

		_, err := store.New(d.databaseDriver).CopiedAt(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("opening the database (DATABASE_URL, DATA_DIR): %w", err)
	}
	return nil
}

// Start connects the database if it is not yet, and starts the queue. It tries again until
// it succeeds, and returns false if ctx ends before.
func (d *Database) Start(ctx context.Context, h queue.Handlers) bool {
	var logged error
	for {
		err := d.start(ctx, h)
		if err == nil {
			if logged != nil {
				d.opener.Log.Info().Msg("database available: leads are accepted and delivered")
			}
			return true
		}

		// Each kind of failure is logged once.
		if logged == nil || errors.Is(err, store.ErrUnavailable) != errors.Is(logged, store.ErrUnavailable) {
			d.opener.Log.Error().Err(err).Msg("no database: content is served, leads are refused, " +
				"and deliveries wait. Trying again every two seconds")
			logged = err
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(2 * time.Second):
		}
	}
}

func (d *Database) start(ctx context.Context, h queue.Handlers) error {
	err := d.Connect(ctx)
	if errors.Is(err, store.ErrUnavailable) && d.giveUpSpare() {
		err = d.Connect(ctx)
	}
	if err != nil {
		return err
	}

	if err := Note(ctx, d.Store, d.opener.Settings); err != nil {
		return err
	}
	copied, err := d.Store.CopiedAt(ctx)
	if old := OldDatabase(d.opener.Settings); err == nil && old != "" && copied == "" {
		d.opener.Log.Warn().Msg("the leads in " + old + " are not in this database: if they are " +
			"needed, stop the service, and run `siteapi store copy` with an empty database")
	}
	if d.opener.Settings.DatabaseURL != nil {
		if err := markServer(d.opener.Settings); err != nil {
			d.opener.Log.Warn().Err(err).Msg("cannot mark DATA_DIR as that of a service on PostgreSQL")
		}
	}
	return d.Queue.Start(ctx, h)
}

// Close closes the database.
func (d *Database) Close() error {
	err := d.databaseDriver.Close()
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

// databaseLock returns the lock of the SQLite database. Processes that use the database
// share it.
func databaseLock(s *config.Settings) *flock.Flock {
	return flock.New(filepath.Join(s.DataDir, "run", "open.flock"), flock.SetPermissions(0o640))
}

// lockFile locks the SQLite database for a process that uses it. A running copy gets time to
// finish. A process that copies it keeps all others out.
func (d *Database) lockFile(ctx context.Context) error {
	if d.lock == nil {
		return nil
	}
	if err := refuseOld(d.opener.Settings); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.lock.Path()), 0o750); err != nil {
		return err
	}

	if d.opener.Alone {
		free, err := d.lock.TryLock()
		if err == nil && !free {
			err = errors.New("the database is in use: stop the service and running commands first")
		}
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := d.lock.TryRLockContext(ctx, 50*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("`siteapi store copy` is running")
	}
	return err
}
