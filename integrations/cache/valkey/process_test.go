package valkey_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cache/valkey"
)

// Settings of a process that a test starts; see TestMain.
const (
	processURL  = "CACHETEST_PROCESS_URL"  // of the server
	processFile = "CACHETEST_PROCESS_FILE" // gets a line for each fill
)

// TestMain runs the tests, or is one of the processes that a test starts.
func TestMain(m *testing.M) {
	if url := os.Getenv(processURL); url != "" {
		if err := stampede(url, os.Getenv(processFile)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// stampede reads one key a hundred times at once. Its fill takes a while.
func stampede(url, file string) error {
	c, err := valkey.Open(context.Background(), valkey.Options{URL: url})
	if err != nil {
		return err
	}
	defer c.Close()
	fill := func(context.Context) ([]byte, error) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		fmt.Fprintln(f, os.Getpid())
		time.Sleep(300 * time.Millisecond)
		return []byte("v"), nil
	}
	var wait sync.WaitGroup
	errs := make(chan error, 100)
	for range 100 {
		wait.Go(func() {
			e, err := c.Get(context.Background(), "k", cache.Lifetime{Fresh: time.Hour}, fill)
			if err == nil && string(e.Value) != "v" {
				err = fmt.Errorf("got %q", e.Value)
			}
			errs <- err
		})
	}
	wait.Wait()
	for range 100 {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func TestStampedeOfProcesses(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	file := filepath.Join(t.TempDir(), "fills")
	var running []*exec.Cmd
	for range 3 {
		p := exec.Command(os.Args[0])
		p.Env = append(os.Environ(), processURL+"="+server.URL(), processFile+"="+file)
		p.Stdout, p.Stderr = os.Stdout, os.Stderr
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, p)
	}
	for _, p := range running {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	fills, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(fills), "\n"); n != 1 {
		t.Errorf("%d fills by three processes, want 1", n)
	}
}
