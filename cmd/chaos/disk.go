package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/store/sqlite"
)

// diskFull fills the disk under the service and makes room again.
func diskFull(ctx context.Context, t *trial) string {
	data := filepath.Join(t.dir, "data")
	harness.Check(os.MkdirAll(data, 0o750))
	needs(command(ctx, "mount", "-t", "tmpfs", "-o", "size=48m", "siteapi-chaos", data))
	defer func() { _ = command(context.WithoutCancel(ctx), "umount", "-l", data) }()

	ballast := filepath.Join(data, "ballast")
	fill := func() error {
		_ = command(ctx, "dd", "if=/dev/zero", "of="+ballast, "bs=64k") // ends when the disk is full
		return nil
	}

	return t.withoutStorage(ctx, fill, func() error { return os.Remove(ballast) })
}

// readOnly makes the data folder immutable under a running service, then before a start.
func readOnly(ctx context.Context, t *trial) string {
	data := filepath.Join(t.dir, "data")
	harness.Check(os.MkdirAll(data, 0o750))

	freeze := func() error { return command(ctx, "chattr", "-R", "+i", data) }
	thaw := func() error { return command(context.WithoutCancel(ctx), "chattr", "-R", "-i", data) }

	needs(freeze())
	defer func() { _ = thaw() }()
	harness.Check(thaw())

	summary := t.withoutStorage(ctx, freeze, thaw)

	harness.Check(freeze())
	s := harness.New(t.binary, t.dir)
	s.Start()
	select {
	case <-s.Ended:
	case <-time.After(time.Minute):
		s.Stop(syscall.SIGKILL)
		harness.Failf("the service started on a folder that it can't write to")
	}
	return summary + "; a start says so and ends"
}

// withoutStorage makes all writes of the service fail for a while. Leads must get
// 503 and not be stored, while content is still served.
func (t *trial) withoutStorage(ctx context.Context, take, give func() error) string {
	u := newUpstreams()
	s, v, end := t.begin(ctx, u)
	defer end()

	n := t.times(3, 1)
	for range n {
		v.await(ctx, v.statuses, http.StatusOK, 20)
		harness.Check(take())
		err := harness.Run(func() { v.await(ctx, v.statuses, http.StatusServiceUnavailable, 20) })
		harness.Check(errors.Join(err, give()))
		v.await(ctx, v.statuses, http.StatusOK, 1)
	}

	v.end(ctx, u)
	checkStatuses(v.statuses, http.StatusOK, http.StatusServiceUnavailable)
	checkStatuses(v.reads, http.StatusOK)

	s.Stop(syscall.SIGTERM)
	_, _, err := sqlite.Check(ctx, filepath.Join(t.dir, "data", "siteapi.db"))
	harness.Check(err)

	return fmt.Sprintf("%d times, %d leads acknowledged, %d refused with 503 and taken later",
		n, len(v.acked), v.statuses[http.StatusServiceUnavailable])
}

// command runs a program of the system.
func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}
