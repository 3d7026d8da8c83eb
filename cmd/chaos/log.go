package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
)

// unreadLog submits leads while nothing reads the service's log, and after its reader has
// ended. Neither may delay them, nor the stop.
func unreadLog(ctx context.Context, t *trial) string {
	s := harness.New(t.binary, filepath.Join(t.dir, "unread-log"), "LOG_LEVEL=debug")
	reader, writer, err := os.Pipe()
	harness.Check(err)
	s.Output = writer
	s.Run(ctx)
	defer s.Stop(syscall.SIGKILL)
	harness.Check(writer.Close())

	n, slowest := t.times(2000, 500), time.Duration(0)
	for i := range 2 * n {
		if i == n {
			harness.Check(reader.Close())
		}
		began := time.Now()
		status, _, err := harness.Do(ctx, http.MethodPost, s.Base+"/api/quote/submit", "", leadBody(i))
		harness.Check(err)
		if slowest = max(slowest, time.Since(began)); status != http.StatusOK || slowest > 5*time.Second {
			harness.Failf("lead %d: status %d, the slowest took %v", i, status, slowest)
		}
	}

	began := time.Now()
	s.Stop(syscall.SIGTERM)
	if took := time.Since(began); took > 20*time.Second {
		harness.Failf("the stop took %v", took)
	}
	return fmt.Sprintf("%d leads without a reader of the log, the slowest in %v", 2*n, slowest.Round(time.Millisecond))
}
