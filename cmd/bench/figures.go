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

// settingsQuery asks for every field of the site settings, as a page's header and
// footer do.
const settingsQuery = `query SiteSettings($id: ID!) { SiteSettings(id: $id) {
  contactPhones { number label { en es ro } displayLocation } contactPhone contactEmail
  logo { asset { url } } socialLinks { facebook twitter linkedin instagram github }
  address { street city state zipCode country }
  businessHours { monday tuesday wednesday thursday friday saturday sunday } } }`

// graphql is a request for a query.
func graphql(query string, variables map[string]any) (body string, request []byte) {
	data, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		panic(err) // strings only
	}
	return string(data), post("/graphql", string(data))
}

// same sends one request again and again.
func same(request []byte) func(int, int) []byte { return func(int, int) []byte { return request } }

// fetch returns the body a server answers a request with.
func fetch(ctx context.Context, method, url, body string) ([]byte, error) {
	status, data, err := harness.Do(ctx, method, url, body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answered %d: %.200s", url, status, data)
	}
	return data, err
}

// versusPage compares a request to the service with a bare handler that reads the same
// request and writes the same bytes.
func versusPage(ctx context.Context, o options, service *server, name, goal string, page, request []byte) ([]line, error) {
	path := filepath.Join(o.dir, "page")
	if err := os.WriteFile(path, page, 0o600); err != nil {
		return nil, err
	}
	bare, err := startRole(ctx, "page", alone, pathVariable+"="+path)
	if err != nil {
		return nil, err
	}
	defer bare.stop()
	base, value, err := pair(ctx, o, bare, service, true, same(request))
	if err != nil {
		return nil, err
	}
	return compareRates(name, goal, base, value), nil
}

// readVsNetHTTP measures a query whose response is cached.
func readVsNetHTTP(ctx context.Context, o options) ([]line, error) {
	service, err := startService(ctx, o, o.dir, alone)
	if err != nil {
		return nil, err
	}
	defer service.stop()
	body, request := graphql(settingsQuery, map[string]any{"id": "siteSettings"})
	page, err := fetch(ctx, http.MethodPost, "http://"+service.addr+"/graphql", body)
	if err != nil {
		return nil, err
	}
	return versusPage(ctx, o, service, "read-vs-nethttp", "≥ 0.75", page, request)
}

// readMissVsGqlgen compares queries that no cached response fits with gqlgen's own
// server over the same data.
func readMissVsGqlgen(ctx context.Context, o options) ([]line, error) {
	service, err := startService(ctx, o, o.dir, alone)
	if err != nil {
		return nil, err
	}
	defer service.stop()
	stock, err := startRole(ctx, "gqlgen", alone, pathVariable+"="+o.dir)
	if err != nil {
		return nil, err
	}
	defer stock.stop()
	body, _ := graphql(settingsQuery, map[string]any{"id": "siteSettings"})
	var sent atomic.Int64
	next := func(int, int) []byte { // no two requests have the same bytes
		return post("/graphql", fmt.Sprintf(`%s,"extensions":{"n":%d}}`, strings.TrimSuffix(body, "}"), sent.Add(1)))
	}
	base, value, err := pair(ctx, o, stock, service, true, next)
	if err != nil {
		return nil, err
	}
	return compareRates("read-miss-vs-gqlgen", "≥ 1.0", base, value), nil
}

// readLarge compares the bytes per second of a cached response of 1 MB with those of 10 KB.
func readLarge(ctx context.Context, o options) ([]line, error) {
	text := strings.Repeat("Sitios web que se ganan su lugar. ", 300)
	var docs []map[string]any
	for i := range 100 {
		kind := "large"
		if i == 0 {
			kind = "small"
		}
		docs = append(docs, map[string]any{"_id": fmt.Sprint(kind, i), "_type": kind, "text": text})
	}
	data, err := json.Marshal(docs)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(o.dir, "content.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, err
	}
	service, err := startService(ctx, o, o.dir, alone, "CMS_FILE="+path, "CONTENT_TYPES=small,large")
	if err != nil {
		return nil, err
	}
	defer service.stop()
	restore, err := useSecondProcessor()
	if err != nil {
		return nil, err
	}
	defer restore()
	var rates [2][]float64
	for round := range o.rounds + 1 {
		for i, kind := range []string{"small", "large"} {
			body, request := graphql(`query($t: String!) { content(documentType: $t) { id fields } }`, map[string]any{"t": kind})
			page, err := fetch(ctx, http.MethodPost, "http://"+service.addr+"/graphql", body)
			if err != nil {
				return nil, err
			}
			r, err := load(ctx, service.addr, o.each, same(request))
			if err != nil {
				return nil, err
			}
			if round > 0 {
				rates[i] = append(rates[i], r.perSecond*float64(len(page))/(1<<20))
			}
		}
	}
	return []line{compare("read-1mb-vs-10kb", "MiB/s", "≥ 0.80", rates[0], rates[1])}, nil
}

// trackRequest is what the calculator sends of a session.
func trackRequest(session string) []byte {
	return post("/api/quote/track", `{"sessionId":"`+session+`","selections":{"projectType":"web-app",
		"features":["blog","multilingual","payments"],"complexity":"medium","timeline":"1-3-months"},
		"estimate":{"min":9000,"max":14000,"currency":"EUR"},"formData":{"email":"ana@example.com","firstName":"Ana"}}`)
}

// restVsNetHTTP compares the REST adapter over the executor, with nothing stored, with a
// bare handler that decodes and encodes the same JSON.
func restVsNetHTTP(ctx context.Context, o options) ([]line, error) {
	bare, err := startRole(ctx, "json", alone)
	if err != nil {
		return nil, err
	}
	defer bare.stop()
	adapter, err := startRole(ctx, "rest", alone, pathVariable+"="+o.dir)
	if err != nil {
		return nil, err
	}
	defer adapter.stop()
	base, value, err := pair(ctx, o, bare, adapter, true, same(trackRequest("bench-session")))
	if err != nil {
		return nil, err
	}
	return compareRates("rest-vs-nethttp", "≥ 0.50", base, value), nil
}

// track compares durable tracking with a bare handler over a hand-written group commit.
// Waiting for the disk takes a processor of its own, so both have two.
func track(ctx context.Context, o options) ([]line, error) {
	base, value, err := trackPair(ctx, o, "track-bare", plain)
	if err != nil {
		return nil, err
	}
	tail := func(r result) float64 { return float64(r.p99) / float64(time.Millisecond) }
	return append(compareRates("track-vs-bare", "≥ 0.65", base, value),
		compare("track-p99-vs-bare", "ms", "≤ 2.0", each(base, tail), each(value, tail))), nil
}

// trackVsSingle compares it with one transaction a request. What the group commit saves
// is flushes, so it is measured where these cost something.
func trackVsSingle(ctx context.Context, o options) ([]line, error) {
	if _, err := exec.LookPath("strace"); err != nil {
		fmt.Fprintln(os.Stderr, "# track-vs-single is left out, since it slows the disk by strace:", err)
		return nil, nil
	}
	base, value, err := trackPair(ctx, o, "track-single", slowDisk)
	if err != nil {
		return nil, err
	}
	return compareRates("track-vs-single", "≥ 3.5", base, value), nil
}

// trackPair loads a baseline and the service with the states of 2,000 sessions.
func trackPair(ctx context.Context, o options, role, how string) (base, value []result, err error) {
	service, err := startService(ctx, o, o.dir, how)
	if err != nil {
		return nil, nil, err
	}
	defer service.stop()
	baseline, err := startRole(ctx, role, how, pathVariable+"="+o.dir)
	if err != nil {
		return nil, nil, err
	}
	defer baseline.stop()
	requests := make([][]byte, 2000)
	for i := range requests {
		requests[i] = trackRequest("bench-" + strconv.Itoa(i*7919%1_000_003))
	}
	next := func(conn, n int) []byte { return requests[(conn*len(requests)/connections+n)%len(requests)] }
	return pair(ctx, o, baseline, service, false, next)
}

// pdfCached measures a PDF that was drawn before.
func pdfCached(ctx context.Context, o options) ([]line, error) {
	service, err := startService(ctx, o, o.dir, alone)
	if err != nil {
		return nil, err
	}
	defer service.stop()
	data, err := fetch(ctx, http.MethodPost, "http://"+service.addr+"/api/quote/submit", `{"sessionId":"bench","locale":"ro",
		"contact":{"firstName":"Ana","lastName":"Ionescu","email":"ana@example.com"},
		"selections":{"projectType":"web-app","features":["blog","payments"]},"estimate":{"min":9000,"max":14000,"currency":"EUR"}}`)
	if err != nil {
		return nil, err
	}
	var answer struct{ PdfURL string }
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	document, err := fetch(ctx, http.MethodGet, "http://"+service.addr+answer.PdfURL, "")
	if err != nil {
		return nil, err
	}
	return versusPage(ctx, o, service, "pdf-cached-vs-nethttp", "≥ 0.60", document, get(answer.PdfURL))
}

// valkeyRead compares a cached read with the content in a shared Valkey with one from memory.
func valkeyRead(ctx context.Context, o options) ([]line, error) {
	valkey, err := valkeyserver.New(o.dir)
	if errors.Is(err, valkeyserver.ErrNoBinary) {
		fmt.Fprintln(os.Stderr, "# valkey-read-vs-memory is left out:", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := valkey.Start(); err != nil {
		return nil, err
	}
	defer valkey.Stop()
	memory, err := startService(ctx, o, filepath.Join(o.dir, "memory"), alone)
	if err != nil {
		return nil, err
	}
	defer memory.stop()
	shared, err := startService(ctx, o, filepath.Join(o.dir, "shared"), alone, "CACHE_URL="+valkey.URL())
	if err != nil {
		return nil, err
	}
	defer shared.stop()
	_, request := graphql(settingsQuery, map[string]any{"id": "siteSettings"})
	base, value, err := pair(ctx, o, memory, shared, true, same(request))
	if err != nil {
		return nil, err
	}
	return compareRates("valkey-read-vs-memory", "≥ 0.90", base, value), nil
}

// start measures the time from starting the service on an existing database to its
// first answer.
func start(ctx context.Context, o options) ([]line, error) {
	first, err := startService(ctx, o, o.dir, plain)
	if err != nil {
		return nil, err
	}
	first.stop()
	page := filepath.Join(o.dir, "page")
	if err := os.WriteFile(page, []byte("x"), 0o600); err != nil {
		return nil, err
	}
	var took [2][]float64
	for range o.rounds {
		for i, start := range []func() (*server, error){
			func() (*server, error) { return startRole(ctx, "page", plain, pathVariable+"="+page) },
			func() (*server, error) { return startService(ctx, o, o.dir, plain) },
		} {
			began := time.Now()
			s, err := start()
			if err != nil {
				return nil, err
			}
			_, err = fetch(ctx, http.MethodGet, "http://"+s.addr+"/api/cache/clear", "")
			took[i] = append(took[i], float64(time.Since(began))/float64(time.Millisecond))
			s.stop()
			if err != nil {
				return nil, err
			}
		}
	}
	return []line{compare("start-to-first-answer-vs-nethttp", "ms", "value < 100 ms", took[0], took[1])}, nil
}

// memory measures what the service holds after a minute of mixed load at full speed.
func residentMemory(ctx context.Context, o options) ([]line, error) {
	s, err := harness.New(o.binary, o.dir, "ADMIN_ADDR=off")
	if err != nil {
		return nil, err
	}
	if err := s.Run(ctx); err != nil {
		return nil, err
	}
	defer s.Stop(syscall.SIGTERM)
	idle, err := s.Memory("VmRSS")
	if err != nil {
		return nil, err
	}
	_, read := graphql(settingsQuery, map[string]any{"id": "siteSettings"})
	next := func(conn, n int) []byte {
		if n%2 == 0 {
			return read
		}
		return trackRequest("bench-" + strconv.Itoa(conn*1000+n%1000))
	}
	// A full run loads for a minute; a shorter one in proportion.
	if _, err := load(ctx, s.Base[len("http://"):], time.Duration(o.rounds)*o.each*60/9, next); err != nil {
		return nil, err
	}
	loaded, err := s.Memory("VmRSS")
	return []line{{
		name: "memory-loaded-vs-idle", ratio: loaded / idle, baseline: idle, value: loaded, unit: "MiB", goal: "value < 80 MiB",
	}}, err
}
