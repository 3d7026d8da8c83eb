package riverqueue_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"siteapi/integrations/delivery"
	"siteapi/integrations/delivery/riverqueue"
	"siteapi/integrations/quote"
	"siteapi/integrations/store/storetest/pgserver"
)

// BenchmarkEnqueue measures what a submission's deliveries add to its transaction, by
// the number of submissions that share it. Commits are left out.
func BenchmarkEnqueue(b *testing.B) {
	for _, size := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("sqlite/%d", size), func(b *testing.B) {
			dir := b.TempDir()
			pool := openSQLite(b, dir)
			q := newQueue(b, riversqlite.New(pool), lookedAt(dir))
			if err := q.Migrate(b.Context()); err != nil {
				b.Fatal(err)
			}
			n := 0
			var tx *sql.Tx
			for b.Loop() {
				if n%1000 == 0 {
					b.StopTimer()
					if tx != nil {
						_ = tx.Commit()
					}
					tx, _ = pool.BeginTx(b.Context(), nil)
					b.StartTimer()
				}
				if err := q.Enqueue(b.Context(), tx, ids(&n, size)); err != nil {
					b.Fatal(err)
				}
			}
			_ = tx.Rollback()
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/submission")
		})
		b.Run(fmt.Sprintf("postgresql/%d", size), func(b *testing.B) {
			pool := openPostgres(b, pgserver.Start(b).NewDatabase(b))
			q := newQueue(b, riverpgxv5.New(pool), lookedAt(""))
			if err := q.Migrate(b.Context()); err != nil {
				b.Fatal(err)
			}
			n := 0
			var tx pgx.Tx
			for b.Loop() {
				if n%1000 == 0 {
					b.StopTimer()
					if tx != nil {
						_ = tx.Commit(b.Context())
					}
					tx, _ = pool.Begin(b.Context())
					b.StartTimer()
				}
				if err := q.Enqueue(b.Context(), tx, ids(&n, size)); err != nil {
					b.Fatal(err)
				}
			}
			_ = tx.Rollback(b.Context())
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/submission")
		})
	}
}

func ids(n *int, size int) []string {
	list := make([]string, size)
	for i := range list {
		*n++
		list[i] = "submission-" + strconv.Itoa(*n)
	}
	return list
}

// BenchmarkIdle measures what a started queue with nothing to do costs, and
// BenchmarkLatency how long a delivery takes from its commit to its Send, both with the
// default timing and SQLite.
func BenchmarkIdle(b *testing.B) {
	q, _ := startedSQLite(b, func(context.Context, *quote.Submission) error { return nil })
	time.Sleep(2 * time.Second) // past the start
	const span = 10 * time.Second
	for b.Loop() {
		cpu, written := usage(b)
		time.Sleep(span)
		cpuAfter, writtenAfter := usage(b)
		b.ReportMetric(float64((cpuAfter-cpu).Microseconds())/1000/span.Seconds(), "cpu-ms/s")
		b.ReportMetric(float64(writtenAfter-written)/span.Seconds(), "written-B/s")
	}
	stopQueue(b, q)
}

func BenchmarkLatency(b *testing.B) {
	var took atomic.Int64
	arrived := make(chan struct{}, 2)
	var committed atomic.Int64
	q, enqueue := startedSQLite(b, func(context.Context, *quote.Submission) error {
		took.Store(time.Now().UnixNano() - committed.Load())
		arrived <- struct{}{}
		return nil
	})
	var worst, sum, n int64
	for b.Loop() {
		committed.Store(time.Now().UnixNano())
		enqueue(fmt.Sprint("lead", n))
		<-arrived
		n++
		sum += took.Load()
		worst = max(worst, took.Load())
		time.Sleep(time.Duration(n%7) * 30 * time.Millisecond)
	}
	b.ReportMetric(float64(sum/n)/1e6, "ms-mean")
	b.ReportMetric(float64(worst)/1e6, "ms-worst")
	stopQueue(b, q)
}

func startedSQLite(b *testing.B, send delivery.Send) (*riverqueue.Queue[*sql.Tx], func(id string)) {
	b.Helper()
	dir := b.TempDir()
	pool, queuePool := openSQLite(b, dir), openSQLite(b, dir)
	queuePool.SetMaxOpenConns(1)
	o := plainOptions(dir, send)
	q := newQueue(b, riversqlite.New(queuePool), o)
	if err := q.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := q.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	return q, func(id string) {
		tx, err := pool.BeginTx(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := q.Enqueue(b.Context(), tx, []string{id}); err != nil {
			b.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

func stopQueue(b *testing.B, q delivery.Queue) {
	b.Helper()
	if err := q.Stop(context.WithoutCancel(b.Context())); err != nil {
		b.Error(err)
	}
}

// usage returns the processor time of this process and the bytes it had written.
func usage(b *testing.B) (cpu time.Duration, written int64) {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	io, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(io)) {
		if n, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			written, _ = strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		}
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), written
}
