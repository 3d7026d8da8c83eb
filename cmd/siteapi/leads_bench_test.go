package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
)

// manyLeads is the size of a database that operators' commands are measured on, in
// submissions and in sessions.
const manyLeads = 100_000

// fillMany makes a data folder with many leads that have been delivered.
func fillMany(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	b.Setenv("DATA_DIR", dir)
	b.Setenv("ENVIRONMENT", "development")
	if out, err := exec.Command(binary, "migrate").CombinedOutput(); err != nil {
		b.Fatalf("%v %s", err, out)
	}
	db, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(dir, databaseFile)})
	if err != nil {
		b.Fatal(err)
	}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var wg sync.WaitGroup
	const clients = 200
	for c := range clients {
		wg.Go(func() {
			for i := c; i < manyLeads; i += clients {
				session := fmt.Sprintf("0f1e2d3c-4b5a-6978-8796-%012d", i)
				q := quote.Submission{
					ID: fmt.Sprintf("aaaaaaaaaaaaaaaa%010d", i), SessionID: session,
					Contact: quote.Contact{FirstName: "Ștefania", LastName: "Țurcanu-Ionescu", Email: fmt.Sprintf("visitor.%d@example.com", i),
						Phone: "+40 721 000 000", Company: "Țară & Fiii SRL"},
					Selections: quote.Selections{ProjectType: "web-app", Features: []string{"blog", "payments", "search", "i18n"}, Complexity: "medium", Timeline: "1-3-months"},
					Estimate:   quote.Estimate{Min: 9000, Max: 14500.5, Currency: "EUR"}, Locale: "ro", SubmittedAt: begin.Add(time.Duration(i) * time.Second),
				}
				v := quote.Visit{SessionID: session, Selections: q.Selections, Hints: quote.Hints{Email: q.Contact.Email, FirstName: "Ștefania"}, At: q.SubmittedAt}
				if err := db.Track(b.Context(), v); err != nil {
					b.Error(err)
				}
				if _, _, err := db.Submit(b.Context(), store.NewSubmission{Submission: q, ContentKey: q.ID}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	return dir
}

// peakOf runs a command and returns the most memory that it held, in KiB; 0 where the
// system does not say. What wait reports would not do: it counts what the parent held at
// the fork.
func peakOf(b *testing.B, cmd *exec.Cmd) (peak int64) {
	b.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatalf("%v %s", err, out.String())
			}
			return peak
		case <-time.After(time.Millisecond):
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			continue
		}
		if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
			var kib int64
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				peak = max(peak, kib)
			}
		}
	}
}

// BenchmarkOperators measures commands on many leads: time, and the most memory that
// the process took. Run it with -benchtime=1x.
func BenchmarkOperators(b *testing.B) {
	dir := fillMany(b)
	for _, c := range []struct {
		name string
		args []string
		file string // written each time; its size is reported
	}{
		{"export-csv", []string{"leads", "export", "--overwrite", "--output"}, "leads.csv"},
		{"export-ndjson", []string{"leads", "export", "--format", "ndjson", "--overwrite", "--output"}, "leads.ndjson"},
		{"list", []string{"leads", "list"}, ""},
		{"erase-rehearsal", []string{"leads", "erase", "--email", "nobody@example.com"}, ""},
		{"funnel", []string{"funnel"}, ""},
		{"backup", []string{"backup", "--overwrite", "--output"}, "b.tar.gz"},
		{"restore", []string{"restore", "--from"}, "b.tar.gz"},
	} {
		b.Run(c.name, func(b *testing.B) {
			args := c.args
			path := filepath.Join(dir, "..", c.file)
			if c.file != "" {
				args = append(args, path)
			}
			most := int64(0)
			for b.Loop() {
				most = max(most, peakOf(b, exec.Command(binary, args...)))
			}
			if most > 0 {
				b.ReportMetric(float64(most)/1024, "MB-peak")
			}
			if info, err := os.Stat(path); err == nil && c.file != "" {
				b.ReportMetric(float64(info.Size())/1e6, "MB-file")
			}
		})
	}
}
