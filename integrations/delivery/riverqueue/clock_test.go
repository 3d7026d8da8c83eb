package riverqueue_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"siteapi/integrations/delivery"
	"siteapi/integrations/delivery/riverqueue"
	"siteapi/integrations/quote"
	"siteapi/integrations/store/storetest/pgserver"
)

// clockCase is a delivery with times that a clock left behind, in seconds from now.
type clockCase struct {
	id, state                     string
	created, attempted, scheduled int // attempted 0: never tried
	due                           bool
}

// TestClockPutRight: deliveries of a clock that was ahead are tried when it is put
// right, and whatever waits for a good reason goes on waiting.
func TestClockPutRight(t *testing.T) {
	t.Parallel()
	const hour, day = 3600, 86400
	cases := []clockCase{
		{"submitted an hour ahead", "available", hour, 0, hour, true},
		{"submitted a year ahead", "available", 365 * day, 0, 365 * day, true},
		{"tried an hour ahead", "retryable", -10, hour, hour + 5, true},
		{"held an hour ahead", "scheduled", hour, hour, 2 * hour, true},
		{"tried by a process whose clock is ahead of the database's", "retryable", -10, -5, 7 * day, true},
		{"waits after a failure", "retryable", -2 * hour, -hour, 1800, false},
		{"waits as long as it was asked to", "retryable", -2 * hour, -1, day - 60, false},
		{"a clock a little ahead", "retryable", 20, 30, 40, false},
		{"tried since the clock was put right", "retryable", hour, -1, 1800, false},
	}
	send := func(context.Context, *quote.Submission) error { return nil }
	timing := riverqueue.Timing{Upkeep: 20 * time.Millisecond, Tick: 20 * time.Millisecond}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		pool := openSQLite(t, dir)
		pool.SetMaxOpenConns(1)
		driver := riversqlite.New(pool)
		o := plainOptions(dir, send)
		o.Timing = timing
		q := newQueue(t, driver, o)
		enqueue := func(id string) error {
			tx, err := pool.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			if err := q.Enqueue(t.Context(), tx, []string{id}); err != nil {
				return err
			}
			return tx.Commit()
		}
		putRight(t, q, driver.GetExecutor(), cases, enqueue, "UPDATE river_job SET state = ?1, created_at = datetime('now', ?2 || ' seconds', 'subsec'),"+
			" attempted_at = CASE WHEN ?3 <> 0 THEN datetime('now', ?3 || ' seconds', 'subsec') END,"+
			" scheduled_at = datetime('now', ?4 || ' seconds', 'subsec') WHERE args->>'submission' = ?5")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pool := openPostgres(t, pgserver.Start(t).NewDatabase(t))
		driver := riverpgxv5.New(pool)
		o := plainOptions(t.TempDir(), send)
		o.Timing = timing
		q := newQueue(t, driver, o)
		enqueue := func(id string) error {
			return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return q.Enqueue(t.Context(), tx, []string{id}) })
		}
		putRight(t, q, driver.GetExecutor(), cases, enqueue, "UPDATE river_job SET state = $1::text::river_job_state, created_at = now() + make_interval(secs => $2::int),"+
			" attempted_at = CASE WHEN $3::int <> 0 THEN now() + make_interval(secs => $3::int) END,"+
			" scheduled_at = now() + make_interval(secs => $4::int) WHERE args->>'submission' = $5")
	})
}

func putRight[TTx any](
	t *testing.T, q *riverqueue.Queue[TTx], exec riverdriver.Executor, cases []clockCase, enqueue func(id string) error, update string,
) {
	t.Helper()
	if err := q.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if err := enqueue(c.id); err != nil {
			t.Fatal(err)
		}
		if err := exec.Exec(t.Context(), update, c.state, c.created, c.attempted, c.scheduled, c.id); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := q.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range cases {
		for deadline := time.Now().Add(5 * time.Second); c.due && only(t, q, c.id).State != delivery.Delivered; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("%s: %+v", c.id, only(t, q, c.id))
				break
			}
		}
	}
	time.Sleep(200 * time.Millisecond)
	for _, c := range cases {
		if d := only(t, q, c.id); !c.due && d.State == delivery.Delivered {
			t.Errorf("%s: %+v", c.id, d)
		}
	}
}
