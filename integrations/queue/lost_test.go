package queue_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
)

// victimEnv makes the test binary run the queue of a SQLite file instead of the tests.
const victimEnv = "QUEUE_TEST_VICTIM"

func TestMain(m *testing.M) {
	if path := os.Getenv(victimEnv); path != "" {
		fmt.Fprintln(os.Stderr, victim(path))
		os.Exit(1)
	}
	code := m.Run()
	if one.Server != nil {
		_ = one.Remove()
	}
	os.Exit(code)
}

// victim prints a line when it sends, and never finishes.
func victim(path string) error {
	q, err := openSQLite(path, options(func(context.Context, *queue.Try) error {
		fmt.Println("sending")
		select {}
	}))
	if err == nil {
		err = q.Start(context.Background(), queue.Handlers{Send: q.send})
	}
	if err != nil {
		return err
	}

	time.Sleep(time.Hour)
	return errors.New("it was not killed")
}

// A delivery that a killed process was sending is sent again within 90 seconds, although
// River's leader was killed with the process.
func TestKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}

	path := filepath.Join(t.TempDir(), "site.db")
	tg := newFake(nil)
	q := database(func(o setup) (*subject, error) { return openSQLite(path, o) }).open(t, options(tg.send))
	q.add(t, "lead")

	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), victimEnv+"="+path), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the victim said %q: %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	killed := time.Now()
	q.start(t)
	d := q.becomes(t, "lead", lead.Delivered)
	if after := tg.times[0].Sub(killed); after > 90*time.Second || d.Attempts != 2 || len(d.Errors) != 0 {
		t.Errorf("sent again after %v: %+v", after, d)
	}
}

// A send that ignores its deadline does not block other deliveries, and its own delivery
// is sent again.
func TestHangingSend(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}

	hang := make(chan struct{})
	defer close(hang)
	tg := newFake(func(_ context.Context, id string, call int) error {
		if id == "hangs" && call == 1 {
			<-hang
		}
		return nil
	})

	o := options(tg.send)
	o.Targets[0].MaxWorkers = 1
	q := onSQLite(t).open(t, o)
	q.start(t)

	q.add(t, "hangs")
	eventually(t, "it is sent", func() bool { calls, _ := tg.count("hangs"); return calls == 1 })
	q.add(t, "other")
	q.becomes(t, "other", lead.Delivered)
	q.becomes(t, "hangs", lead.Delivered)
}
