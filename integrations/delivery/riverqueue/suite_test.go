package riverqueue_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/rs/zerolog"

	"siteapi/integrations/delivery"
	"siteapi/integrations/delivery/deliverytest"
	"siteapi/integrations/delivery/riverqueue"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest/pgserver"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	deliverytest.Run(t, func(t *testing.T) deliverytest.Database {
		db := &sqliteDatabase{dir: t.TempDir()}
		migrate(t, db)
		return db
	})
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	deliverytest.Run(t, func(t *testing.T) deliverytest.Database {
		db := &postgresDatabase{url: server.NewDatabase(t), dir: t.TempDir()}
		migrate(t, db)
		return db
	})
}

// migrator is any queue.
type migrator interface {
	Migrate(ctx context.Context) error
}

func migrate(t *testing.T, db deliverytest.Database) {
	t.Helper()
	if err := db.Open(t, deliverytest.Settings{}).(migrator).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// options turns a case's settings into the queue's.
func options(t *testing.T, s deliverytest.Settings, lockDir string) riverqueue.Options {
	s = s.WithDefaults()
	limit := riverqueue.Limit{Concurrency: s.Concurrency, PerSecond: s.PerSecond}
	return riverqueue.Options{
		Load: s.Load, Senders: s.Senders, LockDir: lockDir,
		Limits:      map[delivery.Target]riverqueue.Limit{"cms": limit, "crm": limit},
		MaxAttempts: s.MaxAttempts, CircuitFailures: s.CircuitFailures,
		Observe: s.Observe, Overdue: s.Overdue,
		Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
		Timing: riverqueue.Timing{
			SendTimeout: s.SendTimeout, Grace: s.Grace, RateWait: 500 * time.Millisecond, BackoffFirst: s.BackoffFirst, BackoffMax: s.BackoffMax,
			CircuitFirst: s.CircuitPause, CircuitMax: s.CircuitPause, RefusedPause: s.RefusedPause,
			RescueAfter: s.RescueAfter, OverdueAfter: s.OverdueAfter, OverdueEvery: 50 * time.Millisecond,
			Poll: 20 * time.Millisecond, Cooldown: 5 * time.Millisecond, Tick: 20 * time.Millisecond, Upkeep: 50 * time.Millisecond,
		},
	}
}

// subject adds to a queue what the store does.
type subject[TTx any] struct {
	*riverqueue.Queue[TTx]
	inTx func(ctx context.Context, commit bool, f func(tx TTx) error) error
}

func (s subject[TTx]) Enqueue(ctx context.Context, commit bool, ids ...string) error {
	return s.inTx(ctx, commit, func(tx TTx) error { return s.Queue.Enqueue(ctx, tx, ids) })
}

func (s subject[TTx]) Cancel(ctx context.Context, id string) error {
	return s.inTx(ctx, true, func(tx TTx) error { return s.Queue.Cancel(ctx, tx, id) })
}

func (s subject[TTx]) UnderWay(ctx context.Context, ids ...string) (busy []string, err error) {
	err = s.inTx(ctx, true, func(tx TTx) error {
		busy, err = s.Queue.UnderWay(ctx, tx, ids)
		return err
	})
	return busy, err
}

func newQueue[TTx any](t testing.TB, driver riverdriver.Driver[TTx], o riverqueue.Options) *riverqueue.Queue[TTx] {
	t.Helper()
	q, err := riverqueue.New(driver, o)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// sqliteDatabase is a file that several processes work on, each with a pool for the
// store and one for the queue.
type sqliteDatabase struct{ dir string }

func (d *sqliteDatabase) Open(t *testing.T, s deliverytest.Settings) deliverytest.Subject {
	t.Helper()
	storePool, queuePool := openSQLite(t, d.dir), openSQLite(t, d.dir)
	queuePool.SetMaxOpenConns(1)
	q := newQueue(t, riversqlite.New(queuePool), options(t, s, filepath.Join(d.dir, "run")))
	return subject[*sql.Tx]{q, func(ctx context.Context, commit bool, f func(*sql.Tx) error) error {
		tx, err := storePool.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := f(tx); err != nil || !commit {
			_ = tx.Rollback()
			return err
		}
		return tx.Commit()
	}}
}

func openSQLite(t testing.TB, dir string) *sql.DB {
	t.Helper()
	db, err := sqlite.OpenDB(t.Context(), filepath.Join(dir, "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// postgresDatabase is a database that several processes on several machines work on.
type postgresDatabase struct{ url, dir string }

func (d *postgresDatabase) Open(t *testing.T, s deliverytest.Settings) deliverytest.Subject {
	t.Helper()
	pool := openPostgres(t, d.url)
	q := newQueue(t, riverpgxv5.New(pool), options(t, s, ""))
	return subject[pgx.Tx]{q, func(ctx context.Context, commit bool, f func(pgx.Tx) error) error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		if err := f(tx); err != nil || !commit {
			_ = tx.Rollback(ctx)
			return err
		}
		return tx.Commit(ctx)
	}}
}

func openPostgres(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url+"&pool_max_conns=5")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}
