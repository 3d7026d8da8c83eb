package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver, to check the file
)

// diskFull fills the disk under a service.
func diskFull(ctx context.Context, t *trial) (outcome, error) {
	o, err := t.playInside(ctx, "disk-full")
	o.Tried = "disk of the data folder full, then room again"
	return o, err
}

// diskSize is the size of the small disk, in megabytes.
const diskSize = 48

// smallDisk is diskFull where we may mount.
func smallDisk(ctx context.Context, t *trial) (o outcome, err error) {
	data := filepath.Join(t.dir, "data")
	if err := mountDisk(data, diskSize); err != nil {
		return outcome{NotRun: err.Error()}, nil //nolint:nilerr // that it can't be is an outcome
	}
	ballast := filepath.Join(data, "ballast")
	return t.withoutStorage(ctx, t.times(3, 1), "room",
		func() error { return fill(ballast) }, func() error { return os.Remove(ballast) })
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
	if !errors.Is(err, syscall.ENOSPC) {
		return errors.Join(fmt.Errorf("filling the disk: %w", err), f.Close())
	}
	_ = f.Close() // may say once more that the disk is full
	return nil
}

// withoutStorage takes the service the possibility to store anything under load and
// gives it back, several times. While it is gone submissions have to be answered with
// 503 and nothing of them may be stored, and content goes on.
func (t *trial) withoutStorage(ctx context.Context, rounds int, what string, take, give func() error) (o outcome, err error) {
	far, err := newFarEnds()
	if err != nil {
		return o, err
	}
	defer far.close()
	s, err := newService(ctx, t.binary, t.dir, append(far.settings(), unlimited()...)...)
	if err != nil {
		return o, err
	}
	if err := s.start(); err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.end(syscall.SIGKILL)) }()
	if err := s.ready(ctx, time.Minute); err != nil {
		return o, err
	}
	c := newCrowd(s.base, false)
	c.hurry.Store(true)
	c.begin(ctx)
	defer func() { err = errors.Join(err, c.end()) }()
	var slowest time.Duration
	for o.Times < rounds {
		if err := c.await(ctx, "acknowledgements", c.statuses, http.StatusOK, 20); err != nil {
			return o, err
		}
		if err := take(); err != nil {
			return o, err
		}
		o.Times++
		// What fits into space that is already there is still taken, and that is right.
		err := errors.Join(c.await(ctx, "refusals of submissions", c.statuses, http.StatusServiceUnavailable, 30),
			c.await(ctx, "refusals of tracked states", c.tracks, http.StatusServiceUnavailable, 10))
		pause(ctx, time.Second)
		if err := errors.Join(err, give()); err != nil {
			return o, err
		}
		began := time.Now()
		if err := c.await(ctx, "an acknowledgement once there is "+what+" again", c.statuses, http.StatusOK, 1); err != nil {
			return o, err
		}
		slowest = max(slowest, time.Since(began))
	}
	if err := c.end(); err != nil {
		return o, err
	}
	if len(c.open) > 0 || unless(c.statuses, 200, 503) > 0 || unless(c.tracks, 200, 503) > 0 || unless(c.reads, 200) > 0 {
		return o, fmt.Errorf("answers other than 200 and 503: submissions %v, states %v, content %v", c.statuses, c.tracks, c.reads)
	}
	refused, reads := len(c.refused), c.reads[http.StatusOK]
	stored, err := s.readLedger(ctx)
	if err != nil {
		return o, err
	}
	o.Acknowledged, o.Lost = len(c.acked), stored.missing(c.acked)
	if more := len(stored) - len(c.acked); more > 0 {
		return o, fmt.Errorf("%d submissions are stored that were refused", more)
	}
	// Whoever was refused comes again, and is taken for the first time.
	if err := c.settle(ctx); err != nil {
		return o, err
	}
	o.Acknowledged = len(c.acked)
	lost, why, err := audit(ctx, c.visitors, c.acked)
	if err != nil {
		return o, err
	}
	if o.Lost += lost; lost > 0 {
		o.note("%s", why)
	}
	if err := s.delivered(ctx, patience); err != nil {
		return o, err
	}
	lost, err = far.arrived(c.acked)
	o.Lost += lost
	o.note("%d submissions refused with 503, nothing of them stored, all taken later by the same process", refused)
	o.note("first acknowledgement %v after there was %s again", slowest.Round(time.Millisecond), what)
	o.note("%d of %d reads of content answered meanwhile", reads, reads)
	return o, errors.Join(err, s.end(syscall.SIGTERM), intact(ctx, filepath.Join(t.dir, "data", "siteapi.db")))
}

// await waits until a status was answered so many more times.
func (c *crowd) await(ctx context.Context, what string, in map[int]int, status, more int) error {
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return in[status]
	}
	for from, deadline := count(), time.Now().Add(time.Minute); count() < from+more; pause(ctx, 5*time.Millisecond) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			return fmt.Errorf("waited in vain for %s: submissions are answered with %v, states with %v", what, c.statuses, c.tracks)
		}
	}
	return ctx.Err()
}

// intact has SQLite check a database file.
func intact(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		return fmt.Errorf("checking the database file: %q, %w", verdict, err)
	}
	return nil
}
