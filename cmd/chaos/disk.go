package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/store/sqlite"
)

// diskFull fills the disk of the service and frees it again. While it is full, leads must
// be refused with 503, and content must still be served.
func diskFull(ctx context.Context, t *trial) string {
	data := filepath.Join(t.dir, "data")
	harness.Check(os.MkdirAll(data, 0o750))
	needs(command(ctx, "mount", "-t", "tmpfs", "-o", "size=48m", "siteapi-chaos", data))
	defer func() { _ = command(context.WithoutCancel(ctx), "umount", "-l", data) }()

	u := newUpstreams()
	s, v, end := t.begin(ctx, u)
	defer end()

	n, ballast := t.times(3, 1), filepath.Join(data, "ballast")
	for range n {
		v.await(ctx, v.statuses, http.StatusOK, 20)

		// dd fails when the disk is full.
		_ = command(ctx, "dd", "if=/dev/zero", "of="+ballast, "bs=64k")
		v.await(ctx, v.statuses, http.StatusServiceUnavailable, 20)

		harness.Check(os.Remove(ballast))
		v.await(ctx, v.statuses, http.StatusOK, 1)
	}

	v.end(ctx, u)
	checkStatuses(v.statuses, http.StatusOK, http.StatusServiceUnavailable)
	checkStatuses(v.reads, http.StatusOK)

	s.Stop(syscall.SIGTERM)
	_, _, err := sqlite.Check(ctx, filepath.Join(data, "siteapi.db"))
	harness.Check(err)

	return fmt.Sprintf("%d times, %d leads acknowledged, %d attempts refused with 503",
		n, len(v.acked), v.statuses[http.StatusServiceUnavailable])
}

// command runs a system program.
func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}
