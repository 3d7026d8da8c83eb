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
func diskFull(ctx context.Context, t *trial) (string, error) {
	data := filepath.Join(t.dir, "data")
	if err := os.MkdirAll(data, 0o750); err != nil {
		return "", err
	}
	if err := command(ctx, "mount", "-t", "tmpfs", "-o", "size=48m", "siteapi-chaos", data); err != nil {
		return "", fmt.Errorf("%w: a small disk can't be mounted: %w", errNotRun, err)
	}
	defer func() { _ = command(context.WithoutCancel(ctx), "umount", "-l", data) }()
	ballast := filepath.Join(data, "ballast")
	return t.withoutStorage(ctx, func() error { return fill(ballast) }, func() error { return os.Remove(ballast) })
}

// fill writes to a file until nothing fits any more.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for block := make([]byte, 1<<16); len(block) > 0; {
		if _, err = f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	_ = f.Close() // reports the full disk once more
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("filling the disk: %w", err)
	}
	return nil
}

// readOnly makes the data folder immutable under the service, and before a start.
func readOnly(ctx context.Context, t *trial) (string, error) {
	data := filepath.Join(t.dir, "data")
	if err := os.MkdirAll(data, 0o750); err != nil {
		return "", err
	}
	if err := command(ctx, "chattr", "+i", data); err != nil {
		return "", fmt.Errorf("%w: files can't be made immutable: %w", errNotRun, err)
	}
	thaw := func() error { return command(context.WithoutCancel(ctx), "chattr", "-R", "-i", data) }
	defer func() { _ = thaw() }()
	if err := thaw(); err != nil {
		return "", err
	}
	freeze := func() error { return command(ctx, "chattr", "-R", "+i", data) }
	summary, err := t.withoutStorage(ctx, freeze, thaw)
	if err != nil {
		return summary, err
	}
	if err := freeze(); err != nil {
		return summary, err
	}
	s, err := harness.New(t.binary, t.dir)
	if err != nil {
		return summary, err
	}
	if err := s.Start(); err != nil {
		return summary, err
	}
	select {
	case <-s.Ended():
	case <-time.After(20 * time.Second):
		s.Stop(syscall.SIGKILL)
		return summary, errors.New("the service started on a folder that it can't write to")
	}
	return summary + "; a start says so and ends", nil
}

// withoutStorage takes the service the possibility to store anything and gives it back.
// Meanwhile submissions are answered with 503 and not stored, and content goes on.
func (t *trial) withoutStorage(ctx context.Context, take, give func() error) (string, error) {
	s, u, v, err := t.begin(ctx)
	if err != nil {
		return "", err
	}
	defer u.Close()
	defer func() { s.Stop(syscall.SIGKILL) }()
	n := t.times(3, 1)
	var slowest time.Duration
	for range n {
		if err := v.await(ctx, v.statuses, http.StatusOK, 20); err != nil {
			return "", err
		}
		if err := take(); err != nil {
			return "", err
		}
		err := v.await(ctx, v.statuses, http.StatusServiceUnavailable, 20)
		if err := errors.Join(err, give()); err != nil {
			return "", err
		}
		began := time.Now()
		if err := v.await(ctx, v.statuses, http.StatusOK, 1); err != nil {
			return "", err
		}
		slowest = max(slowest, time.Since(began))
	}
	err = v.end(ctx, u, 90*time.Second)
	if err == nil {
		err = errors.Join(v.onlyStatuses(v.statuses, http.StatusOK, http.StatusServiceUnavailable), v.onlyStatuses(v.reads, http.StatusOK))
	}
	if err == nil {
		s.Stop(syscall.SIGTERM)
		err = intact(ctx, filepath.Join(t.dir, "data", "siteapi.db"))
	}
	return fmt.Sprintf("%d times, %d leads acknowledged, %d refused with 503 and taken later, first acknowledgement %v after",
		n, len(v.acked), v.statuses[http.StatusServiceUnavailable], slowest.Round(time.Millisecond)), err
}

// command runs a program of the system.
func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// intact has SQLite check a database file.
func intact(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var result string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&result); err != nil || result != "ok" {
		return fmt.Errorf("checking the database file: %q %w", result, errors.Join(err))
	}
	return nil
}
