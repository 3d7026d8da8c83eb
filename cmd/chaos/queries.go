package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"siteapi/cmd/internal/harness"
)

const (
	longestWait = 300 * time.Millisecond // of a visitor during an attack
	unitTime    = 3 * time.Millisecond   // processor time of a request that is counted
	posts       = 5000                   // documents
)

// expensive has the root fields that take the most work for their size. Each is repeated as
// often as a document may have root fields.
var expensive = map[string]string{ //nolint:gochecknoglobals // a table that never changes
	"slug":    `content(documentType: "post", slug: "post-4999") { id }`,
	"order":   `content(documentType: "post", orderBy: ["title", "-order", "body"], first: 1) { id }`,
	"page":    `contentPage(documentType: "post", orderBy: ["-body"], offset: 4999) { total }`,
	"list":    `content(documentType: "post", first: 1000) { id type locale }`,
	"resolve": `content(documentType: "post", resolve: 2, first: 1000) { fields }`,
	"copy":    `content(documentType: "post", resolve: 2, first: 200) { id }`,
}

// queries runs each expensive query on small and large content, from 30 connections of one
// address that never repeat a request. The submissions of visitors must not wait for them,
// and the processor time must be what the rate limit allows.
func queries(ctx context.Context, t *trial) string {
	var summary []string
	failed := false
	for _, megabytes := range []int{1, 6} {
		s := harness.New(t.binary, filepath.Join(t.dir, fmt.Sprint("queries-", megabytes)),
			"RATE_LIMITS=on", "CONTENT_TYPES=post")
		harness.Check(os.WriteFile(s.Content, linkedPosts(megabytes), 0o600))
		s.Run(ctx)

		// The same visitors and requests without work are not part of what is counted.
		_, idle := t.expensiveQuery(ctx, s, "__typename")
		for name, field := range expensive {
			wait, unit := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			// Other programs on the machine only add to a measurement, so the best of three counts.
			for try := 0; try < 3 && (wait > longestWait || unit > unitTime); try++ {
				waited, used := t.expensiveQuery(ctx, s, field)
				wait, unit = min(wait, waited), min(unit, used-idle)
			}
			took := fmt.Sprintf("%s of %d MB: a visitor waits %v, %v for each counted request",
				name, megabytes, wait.Round(time.Millisecond), unit.Round(10*time.Microsecond))
			summary = append(summary, took)
			failed = failed || wait > longestWait || unit > unitTime
		}
		s.Stop(syscall.SIGKILL)
	}
	slices.Sort(summary)
	if failed {
		harness.Failf("%s", strings.Join(summary, "; "))
	}
	return strings.Join(summary, "; ")
}

// expensiveQuery runs one query, and returns how long a visitor waits for a submission, and
// the processor time of the service for each request that the rate limit counts.
func (t *trial) expensiveQuery(
	ctx context.Context, s *harness.Service, field string,
) (wait, unit time.Duration) {
	var fields strings.Builder
	for i := range 20 {
		fmt.Fprintf(&fields, "a%d: %s ", i, field)
	}
	var number atomic.Int64
	unique := func(target *vegeta.Target) error {
		query, _ := json.Marshal(fmt.Sprintf("{ %s } # %d", fields.String(), number.Add(1)))
		*target = post(s.Base+"/graphql", "", fmt.Sprintf(`{"query":%s}`, query))
		return nil
	}

	length := time.Duration(t.times(8, 3)) * time.Second
	before, began := processorTime(s), time.Now()
	ended := make(chan struct{})
	go func() { attack(ctx, unique, 30, 200, length); close(ended) }()

	var waits []time.Duration
	for lead := 0; time.Since(began) < length; lead++ {
		waits = append(waits, submission(ctx, s, lead))
		sleep(ctx, 100*time.Millisecond)
	}
	<-ended

	used, counted := processorTime(s)-before, 200+50*time.Since(began).Seconds()
	slices.Sort(waits)
	return waits[len(waits)*9/10], time.Duration(float64(used) / counted)
}

// submission submits a lead from an address of its own, and returns how long that took.
func submission(ctx context.Context, s *harness.Service, lead int) time.Duration {
	from := &net.TCPAddr{IP: net.IPv4(127, byte(1+lead>>8), byte(lead), 9)}
	transport := &http.Transport{DialContext: (&net.Dialer{LocalAddr: from}).DialContext}
	defer transport.CloseIdleConnections()

	body := leadBody(int(time.Now().UnixMicro() % 1e9))
	request := harness.Must(http.NewRequestWithContext(
		ctx, http.MethodPost, s.Base+"/api/quote/submit", strings.NewReader(body)))
	request.Header = harness.Header("")

	began := time.Now()
	response, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Do(request)
	harness.Check(err)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		harness.Failf("a submission during an attack: %s", response.Status)
	}
	return time.Since(began)
}

// processorTime returns the processor time that the service has used.
func processorTime(s *harness.Service) time.Duration {
	stat := harness.Must(harness.Must(procfs.NewProc(s.Pid())).Stat())
	return time.Duration(stat.CPUTime() * float64(time.Second))
}

// linkedPosts returns documents of all languages that link to each other.
func linkedPosts(megabytes int) []byte {
	type reference struct {
		Ref string `json:"_ref"`
	}
	var docs []map[string]any
	for i := range posts {
		docs = append(docs, map[string]any{
			"_id":   fmt.Sprint("post-", i),
			"_type": "post",
			"slug":  map[string]string{"current": fmt.Sprint("post-", i)},
			"title": fmt.Sprintf("Știri %d", i*7919%posts),
			"order": i * 31 % posts,
			"next":  reference{fmt.Sprint("post-", (i+1)%posts)},
			"other": reference{fmt.Sprint("post-", (i*7)%posts)},
			"body":  strings.Repeat(fmt.Sprint(i, " lorem "), megabytes*1_000_000/posts/20),
		})
	}
	return harness.Must(json.Marshal(docs))
}
