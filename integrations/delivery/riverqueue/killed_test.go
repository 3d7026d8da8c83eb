package riverqueue_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"siteapi/integrations/delivery"
	"siteapi/integrations/delivery/riverqueue"
	"siteapi/integrations/quote"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest/pgserver"
)

// victimEnv has the test binary work a queue instead of running tests: "sqlite" or a
// PostgreSQL URL, a blank, and the folder of the database and of the lock files.
const victimEnv = "RIVERQUEUE_TEST_VICTIM"

func TestMain(m *testing.M) {
	if v := os.Getenv(victimEnv); v != "" {
		if err := victim(context.Background(), v); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// victim works a queue with the default timing. It says what it is about to send and
// never comes to an end with it, until it is killed or nobody listens any more.
func victim(ctx context.Context, where string) error {
	url, dir, _ := strings.Cut(where, " ")
	o := plainOptions(dir, func(_ context.Context, s *quote.Submission) error {
		fmt.Println("sending", s.ID)
		select {}
	})
	var err error
	if url == "sqlite" {
		err = startSQLite(ctx, dir, o)
	} else {
		err = startPostgres(ctx, url, o)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func startSQLite(ctx context.Context, dir string, o riverqueue.Options) error {
	pool, err := sqlite.OpenDB(ctx, filepath.Join(dir, "site.db"))
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(1)
	return startQueue(ctx, riversqlite.New(pool), o)
}

func startPostgres(ctx context.Context, url string, o riverqueue.Options) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	return startQueue(ctx, riverpgxv5.New(pool), o)
}

func startQueue[TTx any](ctx context.Context, driver riverdriver.Driver[TTx], o riverqueue.Options) error {
	q, err := riverqueue.New(driver, o)
	if err != nil {
		return err
	}
	return q.Start(ctx)
}

func plainOptions(dir string, send delivery.Send) riverqueue.Options {
	return riverqueue.Options{
		Load:    func(_ context.Context, id string) (quote.Submission, error) { return quote.Submission{ID: id}, nil },
		Senders: map[delivery.Target]delivery.Send{delivery.CMS: send},
		LockDir: filepath.Join(dir, "run"),
	}
}

// kill lets a victim begin to send and kills it.
func kill(t *testing.T, where string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"="+where)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // ends the victim if the test is killed itself
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "sending lead\n" {
		t.Errorf("the victim said %q: %v", line, err)
	}
	time.Sleep(100 * time.Millisecond) // time to become River's leader
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatal(err)
	}
}

func TestKilledSQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool, queuePool := openSQLite(t, dir), openSQLite(t, dir)
	queuePool.SetMaxOpenConns(1)
	testKilled(t, "sqlite "+dir, dir, riversqlite.New(queuePool), func(f func(tx *sql.Tx) error) error {
		tx, err := pool.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		return errors.Join(f(tx), tx.Commit())
	})
}

func TestKilledPostgreSQL(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), pgserver.Start(t).NewDatabase(t)
	pool := openPostgres(t, url)
	testKilled(t, url+" "+dir, dir, riverpgxv5.New(pool), func(f func(tx pgx.Tx) error) error {
		return pgx.BeginFunc(t.Context(), pool, f)
	})
}

// testKilled: what a killed process was sending is sent again right after the next
// start, with the default timing; so is what waited for River's leader, which it was.
func testKilled[TTx any](t *testing.T, where, dir string, driver riverdriver.Driver[TTx], inTx func(func(tx TTx) error) error) {
	t.Helper()
	sent := make(chan string, 10)
	o := plainOptions(dir, func(_ context.Context, s *quote.Submission) error { sent <- s.ID; return nil })
	q := newQueue(t, driver, o)
	if err := q.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	enqueue := func(id string) {
		if err := inTx(func(tx TTx) error { return q.Enqueue(t.Context(), tx, []string{id}) }); err != nil {
			t.Fatal(err)
		}
	}
	enqueue("lead")
	kill(t, where)
	if d := only(t, q, "lead"); d.State != delivery.Running {
		t.Fatalf("after the kill: %+v", d)
	}
	enqueue("due")
	exec := driver.GetExecutor()
	makeDue := "UPDATE river_job SET state = 'retryable', attempt = 3 WHERE queue = 'cms' AND args->>'submission' = 'due'"
	if err := exec.Exec(t.Context(), makeDue); err != nil {
		t.Fatal(err)
	}
	var leader string
	if err := exec.QueryRow(t.Context(), "SELECT leader_id FROM river_leader").Scan(&leader); err != nil {
		t.Fatalf("the victim was not the leader: %v", err)
	}

	began := time.Now()
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := q.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "run")); len(left) > 1 { // that of the migrations stays
			t.Errorf("lock files left: %v", left)
		}
	}()
	got := map[string]int{}
	for range 2 {
		select {
		case id := <-sent:
			got[id]++
		case <-time.After(5 * time.Second):
			t.Fatalf("sent after 5 s: %v", got)
		}
	}
	t.Logf("sent again %v after the start", time.Since(began).Round(time.Millisecond))
	if took := time.Since(began); took > 2*time.Second || got["lead"] != 1 || got["due"] != 1 {
		t.Errorf("sent %v after %v", got, took)
	}
	for deadline := time.Now().Add(5 * time.Second); only(t, q, "lead").State != delivery.Delivered; {
		if time.Now().After(deadline) {
			t.Fatal("not delivered")
		}
		time.Sleep(10 * time.Millisecond)
	}
	d := only(t, q, "lead")
	if len(d.Errors) != 1 || d.Errors[0].Error != "the process ended during this try" || d.Attempts != 2 {
		t.Errorf("after all: %+v", d)
	}
}

func only(t *testing.T, q delivery.Queue, id string) delivery.Delivery {
	t.Helper()
	l, err := q.List(t.Context(), delivery.Filter{SubmissionID: id, Target: delivery.CMS})
	if err != nil || len(l) != 1 {
		t.Fatalf("deliveries of %s: %+v, %v", id, l, err)
	}
	return l[0]
}
