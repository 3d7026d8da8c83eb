package systems

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
	"siteapi/resolvers/content"
	"siteapi/resolvers/health"
	"siteapi/schema"
)

// DatabaseFile is the name of the SQLite file in DATA_DIR.
const DatabaseFile = "siteapi.db"

// Database is an open database with its delivery queue.
type Database struct {
	Queue    *queue.Queue
	Store    *store.Store
	Truncate func(ctx context.Context) error // removes deleted data from the write-ahead log of SQLite
	Load     func() store.Load
	Files    []string // SQLite files; empty with PostgreSQL

	// Sizes returns the bytes of each PostgreSQL table with its indexes. It is nil with
	// SQLite.
	Sizes func(ctx context.Context) (map[string]int64, error)

	opened []func() error // closes what is open
}

// Close closes the database.
func (d *Database) Close() (err error) {
	for _, closing := range slices.Backward(d.opened) {
		err = errors.Join(err, closing())
	}
	d.opened = nil
	return err
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
	lock, err := LockDatabase(s)
	return err == nil && lock.Close() == nil
}

// Database opens the database of DATABASE_URL and the delivery queue in it, and
// migrates their tables.
func (o Opener) Database(ctx context.Context) (*Database, error) {
	s := o.Settings
	receivers, err := o.Receivers()
	if err != nil {
		return nil, err
	}

	options := queue.Options{
		Targets:     o.targets(),
		Receivers:   receivers,
		ContentKeys: content.Keys(schema.Locales()),
		RetryMax:    s.DeliveryRetryMax,
		Observe:     o.Metrics.Delivery,
		Log:         o.Log,
	}

	db, open := &Database{}, o.openSQLite
	if s.DatabaseURL != nil {
		open = o.openPostgres
	}
	if err := open(ctx, db, options); err != nil {
		return nil, fmt.Errorf("opening the database (DATABASE_URL, DATA_DIR): %w", errors.Join(err, db.Close()))
	}
	return db, nil
}

// openPostgres opens the store and the queue on one connection pool.
func (o Opener) openPostgres(ctx context.Context, db *Database, options queue.Options) error {
	url := o.Settings.DatabaseURL.String()
	pool, err := postgres.OpenPool(ctx, url)
	if err != nil {
		return err
	}
	db.opened = append(db.opened, func() error { pool.Close(); return nil })

	jobs, inTransaction, err := queue.New(riverpgxv5.New(pool), options)
	if err != nil {
		return err
	}
	tables, err := postgres.Open(ctx, pool, slog.New(zerolog.NewSlogHandler(o.Log)), inTransaction)
	if err != nil {
		return err
	}

	jobs.Store = tables
	db.Store, db.Queue = tables, jobs
	db.Load = func() store.Load { return postgres.Load(pool) }
	db.Sizes = func(ctx context.Context) (map[string]int64, error) { return postgres.Sizes(ctx, pool) }
	db.Truncate = func(context.Context) error { return nil }
	return migrateQueue(ctx, url, o.Log)
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
func (o Opener) openSQLite(ctx context.Context, db *Database, options queue.Options) error {
	lock, err := o.lockDatabase(ctx)
	if err != nil {
		return err
	}
	db.opened = append(db.opened, lock.Close)

	path := DatabasePath(o.Settings)
	pool, err := sqlite.OpenDB(ctx, path)
	if err != nil {
		return err
	}
	db.opened = append(db.opened, pool.Close)

	river := riversqlite.New(pool)
	jobs, inTransaction, err := queue.New(river, options)
	if err != nil {
		return err
	}
	tables, err := sqlite.Open(ctx, path, pool, slog.New(zerolog.NewSlogHandler(o.Log)), inTransaction)
	if err != nil {
		return err
	}
	db.opened = append(db.opened, tables.Close)

	jobs.Store = tables.Store
	db.Store, db.Queue, db.Load, db.Files = tables.Store, jobs, tables.Load, []string{path, path + "-wal"}
	db.Truncate = func(ctx context.Context) error { return sqlite.Truncate(ctx, path) }
	return queue.Migrate(ctx, river, o.Log)
}

// databaseLock returns the lock of the SQLite database. Processes that use the database
// share it.
func databaseLock(s *config.Settings) (*flock.Flock, error) {
	dir := filepath.Join(s.DataDir, "run")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	return flock.New(filepath.Join(dir, "open.flock"), flock.SetPermissions(0o640)), nil
}

// lockDatabase locks the SQLite database for a process that uses it. A running restore
// gets time to finish.
func (o Opener) lockDatabase(ctx context.Context) (io.Closer, error) {
	if o.Alone {
		return LockDatabase(o.Settings)
	}
	lock, err := databaseLock(o.Settings)
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()

	_, err = lock.TryRLockContext(ctx, 50*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("a restore or a copy is running")
	}
	return lock, err
}

// LockDatabase locks the SQLite database until the lock is closed, so that a restore can
// replace the file, or a copy of it has every lead. It fails if another process uses the database.
func LockDatabase(s *config.Settings) (io.Closer, error) {
	lock, err := databaseLock(s)
	if err != nil {
		return nil, err
	}

	free, err := lock.TryLock()
	if err == nil && !free {
		err = errors.New("the database is in use: stop the service and running commands first")
	}
	return lock, err
}
