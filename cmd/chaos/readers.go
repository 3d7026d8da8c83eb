package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"siteapi/cmd/internal/harness"
)

const (
	herd         = 200             // concurrent readers
	slowest      = 2 * time.Second // maximum latency
	memoryFactor = 7               // maximum memory as a multiple of the content size
	memorySlack  = 10              // additional MiB for garbage
	document     = 20_000          // bytes of a document
)

// readers invalidates content while many readers wait for it. The memory of the service
// without content is measured first.
func readers(ctx context.Context, t *trial) string {
	_, base := t.herd(ctx, 0)

	var summary []string
	for _, megabytes := range []int{6, 32} {
		worst, memory := t.herd(ctx, megabytes)
		took := fmt.Sprintf("%d MB: %d readers within %v, %.0f MiB more than without content",
			megabytes, herd, worst.Round(time.Millisecond), memory-base)
		if worst > slowest || memory-base > float64(memoryFactor*megabytes+memorySlack) {
			harness.Failf("%s", took)
		}
		summary = append(summary, took)
	}
	return strings.Join(summary, "; ")
}

// herd serves content of a size, and returns the maximum latency of a reader after an
// invalidation and the maximum memory of the service.
func (t *trial) herd(ctx context.Context, megabytes int) (worst time.Duration, memory float64) {
	// By default the service lets garbage grow to 128 MiB, which would hide the memory
	// for the readers.
	s := harness.New(t.binary, filepath.Join(t.dir, fmt.Sprint(megabytes)),
		"GOGC=100", "GOMEMLIMIT=off", "CONTENT_TYPES=post")
	harness.Check(os.WriteFile(s.Content, contentOf(megabytes), 0o600))
	s.Run(ctx)
	defer s.Stop(syscall.SIGKILL)
	readAtOnce(ctx, s) // waits until the content of all languages is loaded

	for range t.times(10, 3) {
		status, response, err := harness.Do(
			ctx, http.MethodPost, s.Base+"/api/cache/invalidate", harness.CacheToken, `{"type":"all"}`)
		harness.Check(err)
		if status != http.StatusOK {
			harness.Failf("invalidating: %d %s", status, response)
		}
		worst = max(worst, readAtOnce(ctx, s))
	}
	_, memory = s.Memory()
	return worst, memory
}

// contentOf returns site settings, and documents in all languages.
func contentOf(megabytes int) []byte {
	docs := []map[string]string{
		{"_id": "siteSettings", "_type": "siteSettings", "contactEmail": "hello@example.com"},
	}
	for i := range megabytes * 1_000_000 / document {
		docs = append(docs, map[string]string{
			"_id":      fmt.Sprint("post-", i),
			"_type":    "post",
			"language": harness.Locale(i),
			"body":     strings.Repeat("lorem ipsum ", document/12),
		})
	}
	return harness.Must(json.Marshal(docs))
}

// readAtOnce sends the queries of all readers at once, and returns the latency of the
// slowest. The queries differ, so that none uses the cached response of another.
func readAtOnce(ctx context.Context, s *harness.Service) time.Duration {
	var group errgroup.Group
	began := time.Now()

	for i := range herd {
		group.Go(func() error {
			status, body, err := harness.Do(ctx, http.MethodPost, s.Base+"/graphql", "", fmt.Sprintf(
				`{"query":"query q%d { SiteSettings(id: \"siteSettings\") { contactEmail } }"}`, i))
			if err == nil && (status != http.StatusOK || !bytes.Contains(body, []byte("hello@"))) {
				err = fmt.Errorf("a reader got %d %.200s", status, body)
			}
			return err
		})
	}

	harness.Check(group.Wait())
	return time.Since(began)
}
