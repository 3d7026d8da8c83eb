package main

import (
	"context"
	"database/sql"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"siteapi/cmd/internal/harness"
)

// The table and statement of a service written by hand.
const (
	table = `CREATE TABLE IF NOT EXISTS visits (
  id TEXT PRIMARY KEY NOT NULL, state TEXT NOT NULL, first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL, visits INTEGER NOT NULL)`
	upsert = `INSERT INTO visits VALUES (?, ?, ?, ?, 1) ON CONFLICT (id) DO UPDATE SET
  state = excluded.state, last_seen = excluded.last_seen, visits = visits + 1`
)

// open opens a database as durable as the service's, with one connection.
func open(ctx context.Context, path string) (*sql.Conn, *sql.Stmt) {
	db := harness.Must(sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"))
	conn := harness.Must(db.Conn(ctx))
	harness.Must(conn.ExecContext(ctx, table))
	return conn, harness.Must(conn.PrepareContext(ctx, upsert))
}

// visit is one state on its way to the group commit.
type visit struct {
	session, state string
	at             int64
	done           chan error
}

// groupCommit is the smallest group commit one can write by hand: a channel and one
// goroutine. It knows no deadlines, no limits and no recovery.
func groupCommit(ctx context.Context, path string) putter {
	conn, stmt := open(ctx, path)
	queue := make(chan visit, 1024)
	go func() {
		for first := range queue {
			batch := []visit{first}
			for len(batch) < 256 && len(queue) > 0 {
				batch = append(batch, <-queue)
			}
			err := commit(ctx, conn, stmt, batch)
			for _, v := range batch {
				v.done <- err
			}
		}
	}()
	return func(session, state string, at int64) error {
		done := make(chan error, 1)
		queue <- visit{session, state, at, done}
		return <-done
	}
}

func commit(ctx context.Context, conn *sql.Conn, stmt *sql.Stmt, batch []visit) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, v := range batch {
		if _, err := stmt.ExecContext(ctx, v.session, v.state, v.at, v.at); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// transactionEach stores each state in a transaction of its own.
func transactionEach(ctx context.Context, path string) putter {
	_, stmt := open(ctx, path)
	return func(session, state string, at int64) error {
		_, err := stmt.ExecContext(ctx, session, state, at, at)
		return err
	}
}
