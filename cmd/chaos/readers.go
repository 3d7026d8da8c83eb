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
	perDocument  = 8 << 10         // bytes for each document beside its content, to encode one answer
)

// readers invalidates content with many readers waiting for it: few large documents, of
// which they read the settings, and many small ones, of which they read all. What the
// service needs beside the content is measured with hardly any.
func readers(ctx context.Context, t *trial) string {
	_, base := t.herd(ctx, amount{0, 20_000, settings, "hello@"})

	var summary []string
	for _, a := range []amount{
		{6, 20_000, settings, "hello@"},
		{32, 20_000, settings, "hello@"},
		{6, 1_000, list, "post-5999"},
	} {
		worst, memory := t.herd(ctx, a)
		took := fmt.Sprintf("%d MB by %d KB: %d readers answered within %v, %.0f MiB more than without",
			a.megabytes, a.document/1000, herd, worst.Round(time.Millisecond), memory-base)
		most := memoryFactor*a.megabytes + memorySlack + a.documents()*perDocument>>20
		if worst > slowest || memory-base > float64(most) {
			harness.Failf("%s", took)
		}
		summary = append(summary, took)
	}
	return strings.Join(summary, "; ")
}

// amount is how much content there is, in documents of so many bytes, and what each reader
// asks for and has to get.
type amount struct {
	megabytes, document int
	query               func(reader int) string
	answer              string
}

func (a amount) documents() int { return a.megabytes * 1_000_000 / a.document }

// settings differs for each reader, so that none gets the finished answer of another.
func settings(reader int) string {
	return fmt.Sprintf(`query q%d { SiteSettings(id: "siteSettings") { contactEmail } }`, reader)
}

// list is the same for all readers, as the pages of one site send it.
func list(int) string {
	return `{ en: content(documentType: "post") { id }` +
		` es: content(documentType: "post", locale: es) { id }` +
		` ro: content(documentType: "post", locale: ro) { id } }`
}

// herd serves an amount of content, and returns the longest time that a reader waited
// after an invalidation and the most memory that the service took.
func (t *trial) herd(ctx context.Context, a amount) (worst time.Duration, memory float64) {
	dir := filepath.Join(t.dir, fmt.Sprintf("%d-%d", a.megabytes, a.document))
	// By itself the service lets garbage grow towards 128 MiB, which would hide what the
	// readers need.
	s := harness.New(t.binary, dir, "GOGC=100", "GOMEMLIMIT=off", "CONTENT_TYPES=post")
	harness.Check(os.WriteFile(s.Content, contentOf(a), 0o600))
	s.Run(ctx)
	defer s.Stop(syscall.SIGKILL)
	readAtOnce(ctx, s, a) // waits for the start, which reads the content of all languages

	for range t.times(10, 3) {
		status, answer, err := harness.Do(
			ctx, http.MethodPost, s.Base+"/api/cache/invalidate", harness.CacheToken, `{"type":"all"}`)
		harness.Check(err)
		if status != http.StatusOK {
			harness.Failf("invalidating: %d %s", status, answer)
		}
		worst = max(worst, readAtOnce(ctx, s, a))
	}
	_, memory = s.Memory()
	return worst, memory
}

// contentOf returns site settings and documents, in turn in each language.
func contentOf(a amount) []byte {
	docs := []map[string]string{
		{"_id": "siteSettings", "_type": "siteSettings", "contactEmail": "hello@example.com"},
	}
	for i := range a.documents() {
		docs = append(docs, map[string]string{
			"_id":      fmt.Sprint("post-", i),
			"_type":    "post",
			"language": []string{"en", "es", "ro"}[i%3],
			"body":     strings.Repeat("lorem ipsum ", a.document/12),
		})
	}
	return harness.Must(json.Marshal(docs))
}

// readAtOnce lets all readers ask, and returns how long the last one waited.
func readAtOnce(ctx context.Context, s *harness.Service, a amount) time.Duration {
	var group sync.WaitGroup
	failed := make([]error, herd)
	began := time.Now()

	for i := range herd {
		group.Go(func() {
			request := fmt.Sprintf(`{"query":%q}`, a.query(i))
			status, body, err := harness.Do(ctx, http.MethodPost, s.Base+"/graphql", "", request)
			if err == nil && (status != http.StatusOK || !strings.Contains(string(body), a.answer)) {
				err = fmt.Errorf("a reader got %d %.200s", status, body)
			}
			failed[i] = err
		})
	}

	group.Wait()
	harness.Check(errors.Join(failed...))
	return time.Since(began)
}
