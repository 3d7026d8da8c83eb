package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/cache/cachetest/valkeyserver"
)

// settingsBody asks for every field of the site settings, as a page's header and footer do.
var settingsBody = graphql(`query SiteSettings($id: ID!) { SiteSettings(id: $id) {
  contactPhones { number label { en es ro } displayLocation } contactPhone contactEmail
  logo { asset { url } } socialLinks { facebook twitter linkedin instagram github }
  address { street city state zipCode country }
  businessHours { monday tuesday wednesday thursday friday saturday sunday } } }`, "id", "siteSettings")

// graphql is the body of a request for a query with one variable.
func graphql(query, variable, value string) string {
	data, _ := json.Marshal(map[string]any{"query": query, "variables": map[string]string{variable: value}}) // strings only
	return string(data)
}

// same sends one request again and again.
func same(request []byte) func(int, int) []byte { return func(int, int) []byte { return request } }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// fetch returns the body a server answers a request with.
func fetch(ctx context.Context, method, addr, path, body string) []byte {
	status, data, err := harness.Do(ctx, method, "http://"+addr+path, body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answered %d: %.200s", path, status, data)
	}
	harness.Check(err)
	return data
}

// versusPage compares a request to the service with a bare handler that reads the same
// request and writes the same bytes.
func (b *bench) versusPage(ctx context.Context, service, name, goal string, page, request []byte) []line {
	path := filepath.Join(b.dir, "page")
	harness.Check(os.WriteFile(path, page, 0o600))
	base, value := b.pair(ctx, b.baseline(ctx, "page", alone, path), service, true, same(request))
	return compareRates(name, goal, base, value)
}

// readVsNetHTTP measures a query whose response is cached.
func readVsNetHTTP(ctx context.Context, b *bench) []line {
	service := b.service(ctx, b.dir, alone)
	page := fetch(ctx, http.MethodPost, service, "/graphql", settingsBody)
	return b.versusPage(ctx, service, "read-vs-nethttp", "≥ 0.75", page, post("/graphql", settingsBody))
}

// readMissVsGqlgen compares queries that no cached response fits with gqlgen's own
// server over the same data.
func readMissVsGqlgen(ctx context.Context, b *bench) []line {
	var sent atomic.Int64
	next := func(int, int) []byte { // no two requests have the same bytes
		return post("/graphql", fmt.Sprintf(`%s,"extensions":{"n":%d}}`, strings.TrimSuffix(settingsBody, "}"), sent.Add(1)))
	}
	base, value := b.pair(ctx, b.baseline(ctx, "gqlgen", alone, b.dir), b.service(ctx, b.dir, alone), true, next)
	return compareRates("read-miss-vs-gqlgen", "≥ 1.0", base, value)
}

// readLarge compares the bytes per second of a cached response of 1 MB with those of 10 KB.
func readLarge(ctx context.Context, b *bench) []line {
	text := strings.Repeat("Sitios web que se ganan su lugar. ", 300)
	docs := []map[string]string{{"_id": "small", "_type": "small", "text": text}}
	for i := range 99 {
		docs = append(docs, map[string]string{"_id": fmt.Sprint("large", i), "_type": "large", "text": text})
	}
	path := filepath.Join(b.dir, "content.json")
	harness.Check(os.WriteFile(path, harness.Must(json.Marshal(docs)), 0o600))
	service := b.service(ctx, b.dir, alone, "CMS_FILE="+path, "CONTENT_TYPES=small,large")
	defer useSecondProcessor()()
	var rates [2][]float64
	for round := range b.rounds + 1 {
		for i, kind := range []string{"small", "large"} {
			body := graphql(`query($t: String!) { content(documentType: $t) { id fields } }`, "t", kind)
			page := fetch(ctx, http.MethodPost, service, "/graphql", body)
			r := load(ctx, service, b.each, same(post("/graphql", body)))
			if round > 0 {
				rates[i] = append(rates[i], r.perSecond*float64(len(page))/(1<<20))
			}
		}
	}
	return []line{compare("read-1mb-vs-10kb", "MiB/s", "≥ 0.80", rates[0], rates[1])}
}

// trackRequest is what the calculator sends of a session.
func trackRequest(session string) []byte {
	return post("/api/quote/track", `{"sessionId":"`+session+`","selections":{"projectType":"web-app",
		"features":["blog","multilingual","payments"],"complexity":"medium","timeline":"1-3-months"},
		"estimate":{"min":9000,"max":14000,"currency":"EUR"},"formData":{"email":"ana@example.com","firstName":"Ana"}}`)
}

// restVsNetHTTP compares the REST adapter over the executor, with nothing stored, with a
// bare handler that decodes and encodes the same JSON.
func restVsNetHTTP(ctx context.Context, b *bench) []line {
	base, value := b.pair(ctx, b.baseline(ctx, "json", alone, b.dir), b.baseline(ctx, "rest", alone, b.dir), true, same(trackRequest("bench-session")))
	return compareRates("rest-vs-nethttp", "≥ 0.50", base, value)
}

// track compares durable tracking with a bare handler over a hand-written group commit.
// Waiting for the disk takes a processor of its own, so both have two.
func track(ctx context.Context, b *bench) []line {
	base, value := b.trackPair(ctx, "track-bare", plain)
	tail := func(r result) float64 { return milliseconds(r.p99) }
	return append(compareRates("track-vs-bare", "≥ 0.65", base, value),
		compare("track-p99-vs-bare", "ms", "≤ 2.0", each(base, tail), each(value, tail)))
}

// trackVsSingle compares it with one transaction a request. What the group commit saves
// is flushes, so it is measured where these cost something.
func trackVsSingle(ctx context.Context, b *bench) []line {
	if _, err := exec.LookPath("strace"); err != nil {
		fmt.Fprintln(os.Stderr, "# track-vs-single is left out, since it slows the disk by strace:", err)
		return nil
	}
	base, value := b.trackPair(ctx, "track-single", slowDisk)
	return compareRates("track-vs-single", "≥ 3.5", base, value)
}

// trackPair loads a baseline and the service with the states of 2,000 sessions.
func (b *bench) trackPair(ctx context.Context, role, how string) (base, value []result) {
	requests := make([][]byte, 2000)
	for i := range requests {
		requests[i] = trackRequest("bench-" + strconv.Itoa(i*7919%1_000_003))
	}
	next := func(conn, n int) []byte { return requests[(conn*len(requests)/connections+n)%len(requests)] }
	return b.pair(ctx, b.baseline(ctx, role, how, b.dir), b.service(ctx, b.dir, how), false, next)
}

// pdfCached measures a PDF that was drawn before.
func pdfCached(ctx context.Context, b *bench) []line {
	service := b.service(ctx, b.dir, alone)
	data := fetch(ctx, http.MethodPost, service, "/api/quote/submit", `{"sessionId":"bench","locale":"ro",
		"contact":{"firstName":"Ana","lastName":"Ionescu","email":"ana@example.com"},
		"selections":{"projectType":"web-app","features":["blog","payments"]},"estimate":{"min":9000,"max":14000,"currency":"EUR"}}`)
	var answer struct{ PdfURL string }
	harness.Check(json.Unmarshal(data, &answer))
	document := fetch(ctx, http.MethodGet, service, answer.PdfURL, "")
	return b.versusPage(ctx, service, "pdf-cached-vs-nethttp", "≥ 0.60", document, get(answer.PdfURL))
}

// valkeyRead compares a cached read with the content in a shared Valkey with one from memory.
func valkeyRead(ctx context.Context, b *bench) []line {
	valkey, err := valkeyserver.New(b.dir)
	if errors.Is(err, valkeyserver.ErrNoBinary) {
		fmt.Fprintln(os.Stderr, "# valkey-read-vs-memory is left out:", err)
		return nil
	}
	harness.Check(err)
	harness.Check(valkey.Start())
	b.stops = append(b.stops, valkey.Stop)
	memory := b.service(ctx, filepath.Join(b.dir, "memory"), alone)
	shared := b.service(ctx, filepath.Join(b.dir, "shared"), alone, "CACHE_URL="+valkey.URL())
	base, value := b.pair(ctx, memory, shared, true, same(post("/graphql", settingsBody)))
	return compareRates("valkey-read-vs-memory", "≥ 0.90", base, value)
}

// start measures the time from starting the service on an existing database to its
// first answer.
func start(ctx context.Context, b *bench) []line {
	page := filepath.Join(b.dir, "page")
	harness.Check(os.WriteFile(page, []byte("x"), 0o600))
	var took [2][]float64
	for round := range b.rounds + 1 {
		for i, start := range []func() string{
			func() string { return b.baseline(ctx, "page", plain, page) }, func() string { return b.service(ctx, b.dir, plain) },
		} {
			began := time.Now()
			fetch(ctx, http.MethodGet, start(), "/api/cache/clear", "")
			if round > 0 { // the first one makes the database
				took[i] = append(took[i], milliseconds(time.Since(began)))
			}
			b.stop()
		}
	}
	return []line{compare("start-to-first-answer-vs-nethttp", "ms", "value < 100 ms", took[0], took[1])}
}

// residentMemory measures what the service holds after a minute of mixed load at full speed.
func residentMemory(ctx context.Context, b *bench) []line {
	s := harness.New(b.binary, b.dir, "ADMIN_ADDR=off")
	s.Run(ctx)
	defer s.Stop(syscall.SIGTERM)
	idle, read := s.Memory("VmRSS"), post("/graphql", settingsBody)
	next := func(conn, n int) []byte {
		if n%2 == 0 {
			return read
		}
		return trackRequest("bench-" + strconv.Itoa(conn*1000+n%1000))
	}
	// A full run loads for a minute; a shorter one in proportion.
	load(ctx, s.Base[len("http://"):], time.Duration(b.rounds)*b.each*60/9, next)
	loaded := s.Memory("VmRSS")
	return []line{{
		name: "memory-loaded-vs-idle", ratio: loaded / idle, baseline: idle, value: loaded, unit: "MiB", goal: "value < 80 MiB",
	}}
}
