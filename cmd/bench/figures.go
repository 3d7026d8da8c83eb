package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"siteapi/cmd/internal/harness"
)

// settings queries all site settings, as the header and footer of a page do.
const settings = `{"variables":{"id":"siteSettings"},"query":"query SiteSettings($id: ID!) { ` +
	`SiteSettings(id: $id) { contactPhones { number label { en es ro } displayLocation } ` +
	`contactPhone contactEmail logo { asset { url } } ` +
	`socialLinks { facebook twitter linkedin instagram github } ` +
	`address { street city state zipCode country } ` +
	`businessHours { monday tuesday wednesday thursday friday saturday sunday } } }"}`

// trackRequest returns the request of the calculator to track a session.
func trackRequest(session int) []byte {
	return post("/api/quote/track",
		`{"sessionId":"bench-`+strconv.Itoa(session)+`","selections":{"projectType":"web-app",
		"features":["blog","multilingual","payments"],"complexity":"medium","timeline":"1-3-months"},
		"estimate":{"min":18100,"max":24400,"currency":"EUR"},`+
			`"formData":{"email":"ana@example.com","firstName":"Ana"}}`)
}

// cycle returns the requests in turn, endlessly.
func cycle(requests ...[]byte) func() []byte {
	var n atomic.Int64
	return func() []byte { return requests[int(n.Add(1))%len(requests)] }
}

// versusPage compares a request to the service with a bare handler that reads the same
// request and writes the same response.
func (b *bench) versusPage(ctx context.Context, service, name, goal string, request []byte) {
	harness.Check(os.WriteFile(filepath.Join(b.dir, pageFile), ask(ctx, service, request), 0o600))
	b.pair(ctx, b.baseline(ctx, "page"), service, cycle(request)).report(name, goal)
}

// readVsNetHTTP measures a query with a cached response.
func readVsNetHTTP(ctx context.Context, b *bench) {
	b.versusPage(ctx, b.service(ctx, b.dir).Base, "read-vs-nethttp", "≥ 0.75", post("/graphql", settings))
}

// quoteOptions queries all options of the calculator, about 10 KB.
const quoteOptions = `query={content(documentType:"quoteOption"){id,fields}}`

// readGzipVsNetHTTP measures a cached response with gzip.
func readGzipVsNetHTTP(ctx context.Context, b *bench) {
	service := b.service(ctx, b.dir, "CONTENT_TYPES=quoteOption").Base
	request := get("/graphql?"+url.PathEscape(quoteOptions), "Accept-Encoding: gzip")
	b.versusPage(ctx, service, "read-gzip-vs-nethttp", "≥ 0.75", request)
}

// readMissVsGqlgen compares queries that miss the response cache with the server of
// gqlgen on the same data.
func readMissVsGqlgen(ctx context.Context, b *bench) {
	var sent atomic.Int64
	// No two requests have the same bytes.
	next := func() []byte {
		return post("/graphql",
			fmt.Sprintf(`%s,"extensions":{"n":%d}}`, strings.TrimSuffix(settings, "}"), sent.Add(1)))
	}

	b.pair(ctx, b.baseline(ctx, "gqlgen"), b.service(ctx, b.dir).Base, next).
		report("read-miss-vs-gqlgen", "≥ 1.0")
}

// restVsNetHTTP compares the REST adapter and the executor, without a database, with a
// bare handler that decodes and encodes the same JSON.
func restVsNetHTTP(ctx context.Context, b *bench) {
	b.pair(ctx, b.baseline(ctx, "json"), b.baseline(ctx, "rest"), cycle(trackRequest(1))).
		report("rest-vs-nethttp", "≥ 0.50")
}

// estimateVsNetHTTP compares estimates with a bare handler that decodes the same request.
func estimateVsNetHTTP(ctx context.Context, b *bench) {
	request := post("/api/quote/estimate", `{"selections":{"projectType":"web-app",`+
		`"features":["blog","multilingual","payments"],"complexity":"medium","timeline":"1-3-months"},"locale":"ro"}`)

	b.pair(ctx, b.baseline(ctx, "json"), b.service(ctx, b.dir).Base, cycle(request)).
		report("estimate-vs-nethttp", "≥ 0.45")
}

// estimateUnitsVsFlat compares estimates of 50 choices of which 20 have 20 tiers with those of
// 50 choices with a fixed price. Both ignore or price the same quantities.
func estimateUnitsVsFlat(ctx context.Context, b *bench) {
	var slugs, counts []string
	for i := range 50 {
		slugs = append(slugs, fmt.Sprintf(`"o%d"`, i))
		if i < 20 {
			counts = append(counts, fmt.Sprintf(`{"slug":"o%d","count":%d}`, i, 150+i))
		}
	}
	request := post("/api/quote/estimate", fmt.Sprintf(`{"selections":{"features":[%s],"quantities":[%s]}}`,
		strings.Join(slugs, ","), strings.Join(counts, ",")))

	servers := [2]string{}
	for side, tiered := range []int{0, 20} {
		dir := harness.Must(os.MkdirTemp(b.dir, "units"))
		content := filepath.Join(dir, "choices.json")
		harness.Check(os.WriteFile(content, []byte(choices(tiered)), 0o600))
		servers[side] = b.service(ctx, dir, "CMS_FILE="+content).Base
	}
	b.pair(ctx, servers[0], servers[1], cycle(request)).report("estimate-units-vs-flat", "≥ 0.77")
}

// choices returns content with price rules and 50 choices, the first ones with 20 tiers.
func choices(tiered int) string {
	docs := `[{"_id":"quoteRules","_type":"quoteRules","currency":"EUR","spreadPercent":20,"roundTo":10}`
	for i := range 50 {
		price := `"price":100`
		if i < tiered {
			price = `"unit":"pages","graduated":true,"tiers":[`
			for tier := range 19 {
				price += fmt.Sprintf(`{"upTo":%d,"unitPrice":%d},`, 10*(tier+1), 100-tier)
			}
			price += `{"unitPrice":50}]`
		}
		docs += fmt.Sprintf(`,{"_id":"o%d","_type":"quoteOption","group":"feature","slug":"o%d","label":"O",%s}`, i, i, price)
	}
	return docs + "]"
}

// track compares durable tracking of 2,000 sessions with a bare handler on a hand-written
// group commit. Waiting for the disk occupies a processor, so both use two.
func track(ctx context.Context, b *bench) {
	requests := make([][]byte, 2000)
	for i := range requests {
		requests[i] = trackRequest(i * 7919 % 1_000_003)
	}

	r := b.pair(ctx, b.baseline(ctx, "track"), b.service(ctx, b.dir).Base, cycle(requests...))
	r.report("track-vs-bare", "≥ 0.65")
	report("track-p99-vs-bare", "ms", "≤ 2.0", r.p99s)
}

// submit compares storing leads with their prices and deliveries with a handler that
// stores the same body as a row in a group commit.
func submit(ctx context.Context, b *bench) {
	var sessions atomic.Int64
	next := func() []byte {
		return post("/api/quote/submit", `{"sessionId":"bench-`+strconv.FormatInt(sessions.Add(1), 10)+`","locale":"ro",
		"contact":{"firstName":"Ana","lastName":"Ionescu","email":"ana@example.com"},
		"selections":{"projectType":"web-app","features":["blog","multilingual","payments"]},
		"estimate":{"min":16500,"max":22300,"currency":"EUR"}}`)
	}
	b.pair(ctx, b.baseline(ctx, "track"), b.service(ctx, b.dir).Base, next).report("submit-vs-group-commit", "none")
}

// pdfCached measures a cached PDF.
func pdfCached(ctx context.Context, b *bench) {
	service := b.service(ctx, b.dir).Base

	var response struct{ PdfURL string }
	harness.Check(json.Unmarshal(ask(ctx, service, post("/api/quote/submit",
		`{"sessionId":"bench","locale":"ro",
		"contact":{"firstName":"Ana","lastName":"Ionescu","email":"ana@example.com"},
		"selections":{"projectType":"web-app","features":["blog","payments"]},
		"estimate":{"min":14400,"max":19400,"currency":"EUR"}}`)), &response))

	b.versusPage(ctx, service, "pdf-cached-vs-nethttp", "≥ 0.60", get(response.PdfURL))
}

// start measures the time from starting the service to its first response. The first
// round creates the database.
func start(ctx context.Context, b *bench) {
	var took []float64
	for range b.rounds {
		began := time.Now()
		ask(ctx, b.service(ctx, b.dir).Base, get("/api/cache/clear"))
		took = append(took, time.Since(began).Seconds()*1000)
		b.stop()
	}
	report("start-to-first-response", "ms", "< 100 ms", [2][]float64{{100}, {median(took)}})
}

// residentMemory measures the resident memory of the service after a minute of mixed load
// at full speed. Fewer or shorter rounds shorten the load in proportion.
func residentMemory(ctx context.Context, b *bench) {
	s := b.service(ctx, b.dir)
	idle, _ := s.Memory()

	var requests [][]byte
	for i := range 32_000 {
		requests = append(requests, trackRequest(i), post("/graphql", settings))
	}

	load(ctx, s.Base, time.Duration(b.rounds)*b.each*60/9, cycle(requests...))
	loaded, _ := s.Memory()
	report("memory-loaded-vs-idle", "MiB", "value < 80 MiB", [2][]float64{{idle}, {loaded}})
}
