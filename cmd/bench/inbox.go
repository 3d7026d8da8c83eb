package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"golang.org/x/sync/errgroup"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/store/storetest/pgserver"
)

// operatorToken authorizes operators' fields.
const operatorToken = "bench-operator-token"

// view is a view of the inbox: operations that the page sends at once, and their
// variables as JSON, which the measurements use in turn.
type view struct {
	name       string
	most       int // goal of the 95th percentile in ms
	operations []string
	variables  []string
}

var views = []view{ //nolint:gochecknoglobals // a constant table
	{"list", 200, []string{"Leads"}, []string{
		`"sort":"NEWEST"`,
		`"sort":"OLDEST"`,
		`"sort":"LARGEST"`,
		`"sort":"SMALLEST"`,
		`"sort":"NEWEST","state":"UNDER_WAY"`,
		`"sort":"LARGEST","status":"WAITING","owner":"ana@example.com"`,
		`"sort":"NEWEST","locale":"es","source":"newsletter","currency":"RON"`,
		`"sort":"NEWEST","owner":"ben@example.com"`,
	}},
	{"search", 300, []string{"Leads"}, []string{
		`"sort":"NEWEST","search":"srl"`,
		`"sort":"NEWEST","search":"marinescu stefania"`,
		`"sort":"LARGEST","search":"ana srl"`,
		`"sort":"NEWEST","search":"gmail.com"`,
		`"sort":"OLDEST","search":"magazin"`,
		`"sort":"NEWEST","search":"popaescu17@gmail.com"`,
		`"sort":"NEWEST","search":"nobody"`,
		`"sort":"NEWEST","search":"s","status":"CLOSED","owner":"ben@example.com"`,
	}},
	{"filter-and-counts", 500, []string{"Leads", "LeadCounts"}, []string{
		`"sort":"NEWEST"`,
		`"sort":"NEWEST","state":"DELIVERED","status":"NEW"`,
		`"sort":"NEWEST","owner":"ana@example.com","locale":"ro"`,
		`"sort":"LARGEST","currency":"EUR","amountFrom":5000,"amountTo":20000`,
		`"sort":"NEWEST","source":"google","search":"marinescu"`,
		`"sort":"NEWEST","search":"srl"`,
		`"sort":"NEWEST","search":"ana srl","status":"CLOSED"`,
		`"sort":"NEWEST","search":"s"`,
	}},
	{"funnel", 1000, []string{"Funnel"}, []string{
		`"touch":"LAST"`,
		`"touch":"FIRST","locale":"ro"`,
	}},
}

// inboxOnSQLite measures the inbox on a large SQLite database.
func inboxOnSQLite(ctx context.Context, b *bench) {
	b.inbox(ctx, "sqlite", func() { fillSQLite(ctx, filepath.Join(b.dir, "data", "siteapi.db")) })
}

// inboxOnPostgres measures the inbox on a large PostgreSQL database in a new server.
func inboxOnPostgres(ctx context.Context, b *bench) {
	server := harness.Must(pgserver.New())
	defer func() { _ = server.Remove() }()
	harness.Check(server.Up())

	url := server.URL("postgres")
	b.inbox(ctx, "postgres", func() { fillPostgres(ctx, url) }, "DATABASE_URL="+url)
}

// inbox fills a database, and prints the latency of each view and the time of a whole export.
func (b *bench) inbox(ctx context.Context, database string, fill func(), env ...string) {
	service := harness.New(b.binary, b.dir, append(env, "ADMIN_API_TOKEN="+operatorToken)...)
	service.Run(ctx) // creates the tables
	service.Stop(syscall.SIGTERM)

	fill()
	service.Run(ctx)
	defer service.Stop(syscall.SIGTERM)
	for _, v := range views {
		v.measure(ctx, service.Admin, database, 3*b.rounds)
	}

	began := time.Now()
	service.Command(ctx, "leads", "export", "--xlsx", "--output", filepath.Join(b.dir, "leads.xlsx"))
	fmt.Printf("inbox-workbook-%s %.1f s (goal ≤ 10)\n", database, time.Since(began).Seconds())
}

// measure prints the median and the 95th percentile of the time until all responses have
// arrived.
func (v *view) measure(ctx context.Context, admin, database string, times int) {
	var queries []string
	for _, name := range v.operations {
		queries = append(queries, inboxOperation(name))
	}

	samples := make([]time.Duration, times)
	for i := range samples {
		began := time.Now()
		group, ctx := errgroup.WithContext(ctx)
		for _, query := range queries {
			group.Go(func() error {
				status, response, err := harness.Do(ctx, http.MethodPost, admin+"/graphql", operatorToken,
					fmt.Sprintf(`{"query":%q,"variables":{"first":50,%s}}`, query, v.variables[i%len(v.variables)]))
				if err == nil && (status != http.StatusOK || bytes.Contains(response, []byte(`"errors"`))) {
					err = fmt.Errorf("%s: response %d %.300s", v.name, status, response)
				}
				return err
			})
		}
		harness.Check(group.Wait())
		samples[i] = time.Since(began)
	}

	slices.Sort(samples)
	fmt.Printf("inbox-%s-%s p50 %.0f p95 %.0f ms (goal p95 ≤ %d)\n", v.name, database,
		samples[times/2].Seconds()*1000, samples[times*95/100].Seconds()*1000, v.most)
}

var fragmentSpread = regexp.MustCompile(`\.\.\.(\w+)`)

// inboxOperation returns an operation of the page with its fragments.
func inboxOperation(name string) string {
	file := string(harness.Must(os.ReadFile("cmd/siteapi/internal/pages/inbox/operations.graphql")))
	definition := func(start string) string {
		_, text, _ := strings.Cut(file, "\n"+start)
		text, _, _ = strings.Cut(text, "\n}\n")
		return start + text + "\n}\n"
	}

	text := definition("query " + name + "(")
	for _, spread := range fragmentSpread.FindAllStringSubmatch(text, -1) {
		text += definition("fragment " + spread[1] + " ")
	}
	return text
}
