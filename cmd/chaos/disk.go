package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"siteapi/cmd/internal/harness"
)

// diskFull fills the disk under the service and makes room again.
func diskFull(ctx context.Context, t *trial) string {
	data := filepath.Join(t.dir, "data")
	harness.Check(os.MkdirAll(data, 0o750))
	t.needs(command(ctx, "mount", "-t", "tmpfs", "-o", "size=48m", "siteapi-chaos", data))
	defer func() { _ = command(context.WithoutCancel(ctx), "umount", "-l", data) }()
	ballast := filepath.Join(data, "ballast")
	return t.withoutStorage(ctx, func() error { return fill(ballast) }, func() error { return os.Remove(ballast) })
}

// needs ends a scenario as one that this machine can't run.
func (t *trial) needs(err error) {
	if err != nil {
		harness.Check(fmt.Errorf("%w: %w", errNotRun, err))
	}
}

// fill writes to a file until nothing fits any more.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // reports the full disk once more
	for block := make([]byte, 1<<16); len(block) > 0; {
		if _, err = f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("filling the disk: %w", err)
	}
	return nil
}

// readOnly makes the data folder immutable under the service, and before a start.
func readOnly(ctx context.Context, t *trial) string {
	data := filepath.Join(t.dir, "data")
	harness.Check(os.MkdirAll(data, 0o750))
	freeze := func() error { return command(ctx, "chattr", "-R", "+i", data) }
	thaw := func() error { return command(context.WithoutCancel(ctx), "chattr", "-R", "-i", data) }
	t.needs(freeze())
	defer func() { _ = thaw() }()
	harness.Check(thaw())
	summary := t.withoutStorage(ctx, freeze, thaw)
	harness.Check(freeze())
	s := harness.New(t.binary, t.dir)
	s.Start()
	select {
	case <-s.Ended:
	case <-time.After(20 * time.Second):
		s.Stop(syscall.SIGKILL)
		harness.Check(errors.New("the service started on a folder that it can't write to"))
	}
	return summary + "; a start says so and ends"
}

// withoutStorage takes the service the possibility to store anything and gives it back.
// Meanwhile submissions are answered with 503 and not stored, and content goes on.
func (t *trial) withoutStorage(ctx context.Context, take, give func() error) string {
	s, u, v, end := t.begin(ctx)
	defer end()
	n := t.times(3, 1)
	var slowest time.Duration
	for range n {
		v.await(ctx, v.statuses, http.StatusOK, 20)
		harness.Check(take())
		err := harness.Run(func() { v.await(ctx, v.statuses, http.StatusServiceUnavailable, 20) })
		harness.Check(errors.Join(err, give()))
		began := time.Now()
		v.await(ctx, v.statuses, http.StatusOK, 1)
		slowest = max(slowest, time.Since(began))
	}
	v.end(ctx, u)
	v.only(v.statuses, http.StatusOK, http.StatusServiceUnavailable)
	v.only(v.reads, http.StatusOK)
	s.Stop(syscall.SIGTERM)
	db := harness.Must(sql.Open("sqlite", filepath.Join(t.dir, "data", "siteapi.db")))
	defer func() { _ = db.Close() }()
	var result string
	harness.Check(db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&result))
	if result != "ok" {
		harness.Check(fmt.Errorf("the database file: %s", result))
	}
	return fmt.Sprintf("%d times, %d leads acknowledged, %d refused with 503 and taken later, first acknowledgement %v after",
		n, len(v.acked), v.statuses[http.StatusServiceUnavailable], slowest.Round(time.Millisecond))
}

// command runs a program of the system.
func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}
