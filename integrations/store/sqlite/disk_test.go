//go:build linux

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"siteapi/integrations/store"
	"siteapi/integrations/store/storetest"
)

// childPath names the environment variable that makes the test binary fill the disk of a
// database instead of running the tests.
const childPath = "SQLITE_TEST_PATH"

func TestMain(m *testing.M) {
	path := os.Getenv(childPath)
	if path == "" {
		os.Exit(m.Run())
	}
	if err := fillDisk(context.Background(), path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fillDisk submits leads until the limit on the size of the process's files is reached,
// and again after the limit is lifted.
func fillDisk(ctx context.Context, path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	var previous syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &previous); err != nil {
		return err
	}

	s, err := storetest.SQLite(path).Open(ctx, &storetest.Jobs{})
	if err != nil {
		return err
	}

	acknowledged := 0
	submit := func() error {
		_, created, err := s.Submit(ctx, storetest.Lead(acknowledged))
		if err == nil && !created {
			return errors.New("a rejected lead was stored after all")
		}
		if err == nil {
			acknowledged++
		}
		return err
	}

	checkCount := func() error {
		counts, err := s.CountWork(ctx, store.Filter{})
		if n := storetest.Total(counts); err != nil || n != acknowledged {
			return fmt.Errorf("%d leads are stored, %d were acknowledged (%w)", n, acknowledged, err)
		}
		return nil
	}

	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE,
		&syscall.Rlimit{Cur: 256 << 10, Max: previous.Max}); err != nil {
		return err
	}

	// A small write may still fit when a larger one does not, so each kind is repeated
	// until it fails.
	for _, write := range []func() error{
		submit,
		func() error { return s.Track(ctx, storetest.Visit("full", storetest.When())) },
		func() error { return s.Ping(ctx) },
	} {
		for err = nil; err == nil && acknowledged < 10_000; {
			err = write()
		}
		if !errors.Is(err, store.ErrUnavailable) {
			return fmt.Errorf("with a full disk, after %d leads: want ErrUnavailable, got %w",
				acknowledged, err)
		}
	}
	if err := checkCount(); err != nil {
		return err
	}

	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &previous); err != nil {
		return err
	}
	for range 500 {
		if err := submit(); err != nil {
			return fmt.Errorf("with free space again: %w", err)
		}
	}
	return errors.Join(checkCount(), s.Close())
}

// When the disk is full, requests are rejected and nothing is stored in part. Writes
// succeed again once there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), childPath+"="+filepath.Join(t.TempDir(), "full.db")), os.Stderr
	if out, err := cmd.Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
