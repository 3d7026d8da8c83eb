package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest"
)

// While the store writes without a pause another pool still gets its turn, soon.
func TestGateIsFair(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "gate.db")
	gate := new(sqlite.Gate)
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other, err := sqlite.OpenDB(t.Context(), path, sqlite.Through(gate))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), `CREATE TABLE other (n INTEGER)`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := s.Track(t.Context(), storetest.Visit("s", storetest.When())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var took []time.Duration
	for range 200 {
		begin := time.Now()
		err := inTx(ctx, other, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO other VALUES (1)`)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		took = append(took, time.Since(begin))
	}
	cancel()
	wg.Wait()
	slices.Sort(took)
	t.Logf("a transaction beside the store took %v at the median, %v at most", took[100], took[199])
	if took[190] > 200*time.Millisecond {
		t.Errorf("one in twenty took more than %v", took[190])
	}
}

// Whatever way a write through the gate ends, the next one gets in.
func TestGateIsLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "gate.db")
	db, err := sqlite.OpenDB(t.Context(), path, sqlite.Through(new(sqlite.Gate)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stop := errors.New("stop")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, write := range map[string]func(ctx context.Context) error{
		"statement": func(ctx context.Context) error { _, err := db.ExecContext(ctx, `CREATE TABLE a (n)`); return err },
		"failed statement": func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, `INSERT INTO nowhere VALUES (1)`)
			return err
		},
		"ended request": func(context.Context) error { _, err := db.ExecContext(ended, `CREATE TABLE b (n)`); return err },
		"commit": func(ctx context.Context) error {
			return inTx(ctx, db, func(*sql.Tx) error { return nil })
		},
		"rollback": func(ctx context.Context) error {
			return inTx(ctx, db, func(*sql.Tx) error { return stop })
		},
		"ended transaction": func(context.Context) error {
			ctx, cancel := context.WithCancel(t.Context())
			tx, err := db.BeginTx(ctx, nil)
			cancel()
			return errors.Join(err, tx.Commit())
		},
		"rows": func(ctx context.Context) error {
			rows, err := db.QueryContext(ctx, `-- a comment
				CREATE TABLE c (n); INSERT INTO c VALUES (1), (2) RETURNING n`)
			if err != nil {
				return err
			}
			return rows.Close()
		},
		"failed rows": func(ctx context.Context) error {
			rows, err := db.QueryContext(ctx, `INSERT INTO nowhere VALUES (1) RETURNING n`)
			if err == nil {
				err = rows.Close()
			}
			return err
		},
		"statement in a transaction": func(ctx context.Context) error {
			return inTx(ctx, db, func(tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, `CREATE TABLE d (n)`)
				return errors.Join(err, tx.QueryRowContext(ctx, `INSERT INTO d VALUES (1) RETURNING n`).Scan(new(int)))
			})
		},
	} {
		t.Logf("%s: %v", name, write(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		done := make(chan error, 1)
		go func() { _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS after_all (n)`); done <- err }()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("after %s: %v", name, err)
			}
		case <-ctx.Done():
			t.Fatalf("after %s the gate stays shut", name)
		}
		cancel()
	}
}

func inTx(ctx context.Context, db *sql.DB, fn func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
