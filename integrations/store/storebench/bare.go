package storebench

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"siteapi/integrations/quote"
)

// table is what a hand-written service would store visits in.
const table = `CREATE TABLE IF NOT EXISTS visits_bare (
  id TEXT PRIMARY KEY NOT NULL, state TEXT NOT NULL,
  first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL, visits INTEGER NOT NULL)`

const upsert = `INSERT INTO visits_bare VALUES (?, ?, ?, ?, 1) ON CONFLICT (id) DO UPDATE SET
  state = excluded.state, last_seen = excluded.last_seen, visits = visits + 1`

// Bare is the smallest group commit one can write by hand: a channel, one goroutine,
// one prepared statement and SQLite's own checkpoints inside the commit. It knows no
// deadlines, no limits and no recovery.
type Bare struct {
	db    *sql.DB
	queue chan bareVisit
	ended sync.WaitGroup
}

type bareVisit struct {
	session, state string
	at             int64
	done           chan error
}

// OpenBare opens the baseline on its own database file.
func OpenBare(ctx context.Context, path string) (*Bare, error) {
	db, err := openPlain(ctx, path)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connecting: %w", err), db.Close())
	}
	stmt, err := conn.PrepareContext(ctx, upsert)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("preparing: %w", err), db.Close())
	}
	b := &Bare{db: db, queue: make(chan bareVisit, 1024)}
	b.ended.Go(func() { b.work(conn, stmt) })
	return b, nil
}

// Put stores the state of a session, as JSON, seen at a time in milliseconds, and
// returns when it is durable.
func (b *Bare) Put(session, state string, at int64) error {
	done := make(chan error, 1)
	b.queue <- bareVisit{session: session, state: state, at: at, done: done}
	return <-done
}

// Track encodes a visit and stores it with Put.
func (b *Bare) Track(_ context.Context, v quote.Visit) error {
	state, err := encode(v)
	if err != nil {
		return err
	}
	return b.Put(v.SessionID, state, v.At.UnixMilli())
}

// Stored counts what is stored.
func (b *Bare) Stored(ctx context.Context) (sessions, visits int64, err error) {
	return stored(ctx, b.db)
}

// Close ends the baseline.
func (b *Bare) Close() error {
	close(b.queue)
	b.ended.Wait()
	return b.db.Close()
}

func (b *Bare) work(conn *sql.Conn, stmt *sql.Stmt) {
	ctx := context.Background()
	var batch []bareVisit
	for first := range b.queue {
		batch = append(batch[:0], first)
		for more := true; more && len(batch) < 256; {
			select {
			case v, ok := <-b.queue:
				if more = ok; ok {
					batch = append(batch, v)
				}
			default:
				more = false
			}
		}
		err := commit(ctx, conn, stmt, batch)
		for _, v := range batch {
			v.done <- err
		}
	}
}

func commit(ctx context.Context, conn *sql.Conn, stmt *sql.Stmt, batch []bareVisit) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, v := range batch {
		if _, err := stmt.ExecContext(ctx, v.session, v.state, v.at, v.at); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// Single stores each visit in a transaction of its own.
type Single struct {
	db   *sql.DB
	stmt *sql.Stmt
}

// OpenSingle opens the baseline on its own database file.
func OpenSingle(ctx context.Context, path string) (*Single, error) {
	db, err := openPlain(ctx, path)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // a second writer would only poll for the first one's lock
	stmt, err := db.PrepareContext(ctx, upsert)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("preparing: %w", err), db.Close())
	}
	return &Single{db: db, stmt: stmt}, nil
}

// Put stores the state of a session, as JSON, seen at a time in milliseconds, and
// returns when it is durable.
func (s *Single) Put(session, state string, at int64) error {
	_, err := s.stmt.ExecContext(context.Background(), session, state, at, at)
	return err
}

// Track encodes a visit and stores it with Put.
func (s *Single) Track(_ context.Context, v quote.Visit) error {
	state, err := encode(v)
	if err != nil {
		return err
	}
	return s.Put(v.SessionID, state, v.At.UnixMilli())
}

// Stored counts what is stored.
func (s *Single) Stored(ctx context.Context) (sessions, visits int64, err error) {
	return stored(ctx, s.db)
}

// Close ends the baseline.
func (s *Single) Close() error { return s.db.Close() }

func openPlain(ctx context.Context, path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+
		"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, fmt.Errorf("opening the baseline: %w", err)
	}
	if _, err := db.ExecContext(ctx, table); err != nil {
		return nil, errors.Join(fmt.Errorf("making the baseline's table: %w", err), db.Close())
	}
	return db, nil
}

func stored(ctx context.Context, db *sql.DB) (sessions, visits int64, err error) {
	err = db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(visits), 0) FROM visits_bare`).Scan(&sessions, &visits)
	return sessions, visits, err
}

func encode(v quote.Visit) (string, error) {
	b, err := json.Marshal(struct {
		Selections quote.Selections      `json:"selections"`
		Estimate   quote.PartialEstimate `json:"estimate"`
		Hints      quote.Hints           `json:"hints"`
	}{v.Selections, v.Estimate, v.Hints})
	if err != nil {
		return "", fmt.Errorf("encoding the visit: %w", err)
	}
	return string(b), nil
}
