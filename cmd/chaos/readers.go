package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
)

const (
	herd         = 200             // readers at once
	slowest      = 2 * time.Second // the longest that one of them may wait
	memoryFactor = 6               // most memory, in sizes of the content
	memorySlack  = 16              // MiB that Go's collector may keep beside that
)

// readers invalidates content of 6 and of 32 MB, with many readers waiting for it. What
// the service needs beside the content is measured with hardly any.
func readers(ctx context.Context, t *trial) string {
	_, base := t.herd(ctx, 0)

	var summary []string
	for _, size := range []int{6, 32} {
		worst, memory := t.herd(ctx, size)
		took := fmt.Sprintf("%d MB: %d readers answered within %v, %.0f MiB more than without",
			size, herd, worst.Round(time.Millisecond), memory-base)
		if worst > slowest || memory-base > float64(memoryFactor*size+memorySlack) {
			harness.Check(errors.New(took))
		}
		summary = append(summary, took)
	}
	return strings.Join(summary, "; ")
}

// herd serves so many megabytes of content, and returns the longest time that a reader
// waited after an invalidation and the most memory that the service took.
func (t *trial) herd(ctx context.Context, megabytes int) (worst time.Duration, memory float64) {
	dir := filepath.Join(t.dir, fmt.Sprint(megabytes))
	harness.Check(os.MkdirAll(dir, 0o750))
	path := filepath.Join(dir, "content.json")
	harness.Check(os.WriteFile(path, contentOf(megabytes), 0o600))

	// By itself the service lets garbage grow towards 128 MiB, which would hide what the
	// readers need.
	s := harness.New(t.binary, dir, "GOGC=100", "GOMEMLIMIT=off",
		"CONTENT_TYPES=post", "CMS_DRIVER=file", "CMS_FILE="+path)
	s.Run(ctx)
	defer s.Stop(syscall.SIGKILL)
	readAtOnce(ctx, s) // waits for the start, which reads the content of all languages

	for range t.times(10, 3) {
		status, answer, err := harness.Do(
			ctx, http.MethodPost, s.Base+"/api/cache/invalidate", harness.CacheToken, `{"type":"all"}`)
		harness.Check(err)
		if status != http.StatusOK {
			harness.Check(fmt.Errorf("invalidating: %d %s", status, answer))
		}
		worst = max(worst, readAtOnce(ctx, s))
	}
	return worst, s.Memory("VmHWM")
}

// contentOf returns site settings and documents of 20 KB, in turn in each language.
func contentOf(megabytes int) []byte {
	docs := []map[string]string{
		{"_id": "siteSettings", "_type": "siteSettings", "contactEmail": "hello@example.com"},
	}
	for i := range megabytes * 50 {
		docs = append(docs, map[string]string{
			"_id":      fmt.Sprint("post-", i),
			"_type":    "post",
			"language": []string{"en", "es", "ro"}[i%3],
			"body":     strings.Repeat("lorem ipsum ", 20_000/12),
		})
	}
	return harness.Must(json.Marshal(docs))
}

// readAtOnce lets all readers read the settings, and returns how long the last one waited.
func readAtOnce(ctx context.Context, s *harness.Service) time.Duration {
	var group sync.WaitGroup
	failed := make([]error, herd)
	began := time.Now()

	for i := range herd {
		group.Go(func() {
			// Each sends another text, so that none gets the finished answer of another.
			query := fmt.Sprintf(`{"query":"query q%d { SiteSettings(id: \"siteSettings\") { contactEmail } }"}`, i)
			status, body, err := harness.Do(ctx, http.MethodPost, s.Base+"/graphql", "", query)
			if err == nil && (status != http.StatusOK || !strings.Contains(string(body), "hello@")) {
				err = fmt.Errorf("a reader got %d %.200s", status, body)
			}
			failed[i] = err
		})
	}

	group.Wait()
	harness.Check(errors.Join(failed...))
	return time.Since(began)
}
