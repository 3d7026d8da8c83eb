package deliverytest

import (
	"context"
	"errors"
	"testing"
	"time"

	"siteapi/integrations/delivery"
	"siteapi/integrations/upstream"
)

// row is a line of the fault table: how a target fails, and what must come of it.
type row struct {
	name  string
	fault func(ctx context.Context, id string, call int) error
	state delivery.State
	calls int // 0: any number
	taken int
	fails int // errors kept; -1: any number
}

// testFaults goes through every kind of failure, once and several times in a row. The
// rows of a group share a queue, so that they get in each other's way as in real life.
func testFaults(t *testing.T, fresh func(t *testing.T) Database) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	const several = 5
	unexpected := errors.New("dial tcp: lookup nowhere")
	hang := func(n int) func(context.Context, string, int) error {
		return func(ctx context.Context, _ string, call int) error {
			if call <= n {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
	}
	crash := func(n int) func(context.Context, string, int) error {
		return func(_ context.Context, id string, call int) error {
			if call <= n {
				panic("no room for " + id)
			}
			return nil
		}
	}
	steady := []row{
		{"fine", nil, delivery.Delivered, 1, 1, 0},
		{"unavailable once", failing(1, trouble(upstream.Unavailable, 0)), delivery.Delivered, 2, 1, 1},
		{"unavailable several times", failing(several, trouble(upstream.Unavailable, 0)), delivery.Delivered, several + 1, 1, several},
		{"limited once", failing(1, trouble(upstream.Limited, 0)), delivery.Delivered, 2, 1, 1},
		{"limited several times", failing(several, trouble(upstream.Limited, 0)), delivery.Delivered, several + 1, 1, several},
		{"rejected", failing(-1, trouble(upstream.Rejected, 0)), delivery.Failed, 1, 0, 1},
		{"rejected after trouble", func(_ context.Context, _ string, call int) error {
			if call < several {
				return trouble(upstream.Unavailable, 0)
			}
			return trouble(upstream.Rejected, 0)
		}, delivery.Failed, several, 0, several},
		{"unexpected error once", failing(1, unexpected), delivery.Delivered, 2, 1, 1},
		{"unexpected error several times", failing(several, unexpected), delivery.Delivered, several + 1, 1, several},
		{"panic once", crash(1), delivery.Delivered, 2, 1, 1},
		{"panic several times", crash(several), delivery.Delivered, several + 1, 1, several},
		{"time-out once", hang(1), delivery.Delivered, 2, 1, 1},
		{"time-out several times", hang(several), delivery.Delivered, several + 1, 1, several},
		{"ignores its context once", func(_ context.Context, _ string, call int) error {
			if call == 1 {
				<-forever
			}
			return nil
		}, delivery.Delivered, 2, 1, 1},
		{"ignores its context several times", func(_ context.Context, _ string, call int) error {
			if call <= 2 {
				<-forever
			}
			return nil
		}, delivery.Delivered, 3, 1, 2},
		{"succeeds after its time", func(ctx context.Context, _ string, _ int) error {
			<-ctx.Done()
			time.Sleep(20 * time.Millisecond)
			return nil
		}, delivery.Delivered, 1, 1, 0},
	}
	pausing := []row{
		{"refused once", failing(1, trouble(upstream.Refused, 0)), delivery.Delivered, 0, 1, -1},
		{"refused several times", failing(several, trouble(upstream.Refused, 0)), delivery.Delivered, 0, 1, -1},
		{"unavailable once, asks for patience", failing(1, trouble(upstream.Unavailable, 30*time.Millisecond)), delivery.Delivered, 2, 1, -1},
		{"unavailable several times, asks for patience", failing(several, trouble(upstream.Unavailable, 30*time.Millisecond)), delivery.Delivered, several + 1, 1, -1},
		{"limited once, asks for patience", failing(1, trouble(upstream.Limited, 30*time.Millisecond)), delivery.Delivered, 2, 1, -1},
		{"limited several times, asks for patience", failing(several, trouble(upstream.Limited, 30*time.Millisecond)), delivery.Delivered, several + 1, 1, -1},
		{"rejected", failing(-1, trouble(upstream.Rejected, 0)), delivery.Failed, 1, 0, 1},
		{"fine", nil, delivery.Delivered, 1, 1, 0},
	}
	t.Run("steady", func(t *testing.T) {
		t.Parallel()
		runRows(t, fresh(t), Settings{SendTimeout: 100 * time.Millisecond, Grace: 100 * time.Millisecond, Concurrency: 8}, steady)
	})
	t.Run("pausing", func(t *testing.T) {
		t.Parallel()
		runRows(t, fresh(t), Settings{RefusedPause: 30 * time.Millisecond}, pausing)
	})
	t.Run("all with a circuit", func(t *testing.T) {
		t.Parallel()
		rows := append(append([]row{}, steady...), pausing...)
		for i := range rows {
			rows[i].calls, rows[i].fails = 0, -1
		}
		runRows(t, fresh(t), Settings{
			SendTimeout: 100 * time.Millisecond, Grace: 100 * time.Millisecond, Concurrency: 8,
			RefusedPause: 30 * time.Millisecond, CircuitFailures: 3,
		}, rows)
	})
}

func runRows(t *testing.T, db Database, s Settings, rows []row) {
	t.Helper()
	ids := names("row", len(rows))
	index := map[string]int{}
	for i, id := range ids {
		index[id] = i
	}
	tg := newTarget(func(ctx context.Context, id string, call int) error {
		if fault := rows[index[id]].fault; fault != nil {
			return fault(ctx, id, call)
		}
		return nil
	})
	s.Senders = only(tg)
	q := db.Open(t, s)
	enqueue(t, q, ids...)
	start(t, q)
	for i, r := range rows {
		d := untilState(t, q, ids[i], r.state)
		calls, taken := tg.count(ids[i])
		if r.calls != 0 && calls != r.calls || taken != r.taken {
			t.Errorf("%s: %d calls, %d taken; want %d, %d", r.name, calls, taken, r.calls, r.taken)
		}
		if r.fails >= 0 && len(d.Errors) != r.fails {
			t.Errorf("%s: %d errors kept, want %d: %+v", r.name, len(d.Errors), r.fails, d.Errors)
		}
		if d.FinishedAt.IsZero() || !d.NextAt.IsZero() || d.Held != "" {
			t.Errorf("%s: finished at %v, next at %v, held %q", r.name, d.FinishedAt, d.NextAt, d.Held)
		}
	}
}
