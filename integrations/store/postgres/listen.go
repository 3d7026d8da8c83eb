package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// changeChannel is the channel of LISTEN and NOTIFY.
	changeChannel = "siteapi_lead_changes"

	// announceDelay is how long changes are collected before other instances are told.
	// PostgreSQL commits transactions with a NOTIFY one after the other, so none is sent in
	// a transaction that changes something.
	announceDelay = 50 * time.Millisecond

	// listenPause is the pause after the connection that listens has broken.
	listenPause = 5 * time.Second
)

// errPooled means that LISTEN has no effect, and would remain on a connection of others.
var errPooled = errors.New("a pooler stands between the service and PostgreSQL")

// Changed wakes the listener of this process, and soon those of the other instances.
func (d *database) Changed() {
	d.wake()
	if d.announcing.CompareAndSwap(false, true) {
		time.AfterFunc(announceDelay, d.announce)
	}
}

func (d *database) wake() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// announce tells the other instances. If that fails, they find the change when they ask.
func (d *database) announce() {
	d.announcing.Store(false)
	ctx, cancel := context.WithTimeout(context.Background(), AcquireTimeout)
	defer cancel()
	_, _ = d.pool.Exec(ctx, "NOTIFY "+changeChannel)
}

// Listen hears of the changes of all instances, or behind a pooler of this one.
func (d *database) Listen(ctx context.Context, wake func()) {
	go d.hearOthers(ctx)
	for {
		select {
		case <-d.changed:
			wake()
		case <-ctx.Done():
			return
		}
	}
}

// hearOthers wakes the listener of this process when another instance tells of changes. It
// connects again if its connection breaks.
func (d *database) hearOthers(ctx context.Context) {
	for ctx.Err() == nil {
		err := d.hear(ctx)
		if errors.Is(err, errPooled) {
			d.log.Info("changes of leads by other instances are asked for, instead of being heard of: " + err.Error())
			return
		}

		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

// isDirect reports whether a connection is one to PostgreSQL itself. A pooler answers with a
// number of its own when a client connects.
func isDirect(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var backend uint32
	if err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&backend); err != nil {
		return false, fmt.Errorf("asking for the server's process: %w", err)
	}
	return backend == conn.PgConn().PID(), nil
}

// Hears reports whether LISTEN and NOTIFY work: not behind a pooler, where changes of other
// instances are asked for.
func (s *Store) Hears(ctx context.Context) (hears bool, err error) {
	err = s.db.once(ctx, time.Now().Add(OperationTimeout), func(ctx context.Context, c *pgxpool.Conn) error {
		hears, err = isDirect(ctx, c.Conn())
		return err
	})
	return hears, Translate(err)
}

// hear listens on a connection of the pool, which it closes in the end.
func (d *database) hear(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, AcquireTimeout)
	pooled, err := d.pool.Acquire(wait)
	cancel()
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	conn := pooled.Conn()
	defer func() {
		_ = conn.Close(context.WithoutCancel(ctx))
		pooled.Release()
	}()

	if direct, err := isDirect(ctx, conn); err != nil || !direct {
		return cmp.Or(err, errPooled)
	}
	if _, err := conn.Exec(ctx, "LISTEN "+changeChannel); err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	for {
		d.wake() // reads earlier announcements, too
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return fmt.Errorf("waiting for a notification: %w", err)
		}
	}
}
