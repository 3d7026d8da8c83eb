package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// keep stores a lead as it is given.
func (s *service) keep(t *testing.T, q quote.Submission) {
	t.Helper()
	n := store.NewSubmission{Submission: q, ContentKey: q.ID}
	if _, _, err := s.app.data.quotes.Submit(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// odd is a lead whose every word wants careful handling.
func odd() quote.Submission {
	return quote.Submission{
		ID: "odd", SessionID: "-1+1",
		Contact: quote.Contact{
			FirstName: `=HYPERLINK("http://evil.example","x")`, LastName: "Ionescu\x1b[31m, \"Ștefan\"\r\nX",
			Email: "odd@example.com", Phone: "+40 721", Company: "Țară; =cmd|' /C calc'!A0 \u202egpj.exe",
		},
		Selections:  quote.Selections{ProjectType: "web-app", Features: []string{"blog", "shop"}, Timeline: "3-months"},
		Estimate:    quote.Estimate{Min: 1234.5, Max: 1e9, Currency: "EUR"},
		SubmittedAt: time.Date(2020, 2, 3, 4, 5, 6, 789e6, time.UTC),
		InReview:    true, Signals: []quote.Signal{quote.Honeypot}, Trace: "00-trace-01",
	}
}

func TestLeadsListAndShow(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	for _, d := range []int{3, 2, 1} {
		s.submitAt(t, fmt.Sprintf("lead-%d", d), time.Duration(d)*24*time.Hour)
	}
	s.keep(t, odd())
	if err := s.app.data.quotes.Track(t.Context(), quote.Visit{SessionID: "session-lead-1", At: time.Now().UTC()}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"lead-1", "lead-2", "lead-3"} {
		eventually(t, id+" arrives", func() bool {
			d := s.deliveries(id)
			return d["cms"].State == "delivered" && d["crm"].State == "delivered"
		})
	}
	between := time.Now().Add(-36 * time.Hour).UTC().Format(time.RFC3339)
	tests := []struct {
		args string
		want []string // all of these, in this order
		not  []string // none of these
	}{
		{"leads list", []string{"SUBMITTED", "lead-1", "Ana Pop", "lead-1@example.com", "web-app", "1-2 EUR", "ro", "delivered", "lead-2", "lead-3", "2020-02-03 04:05:06", "odd", "held"},
			[]string{"\x1b", "\u202e", "newest are"}},
		{"leads list --limit 2", []string{"lead-1", "lead-2", "the 2 newest are listed"}, []string{"lead-3"}},
		{"leads list --limit 4", []string{"lead-1", "odd"}, []string{"newest are"}},
		{"leads list --since 60h", []string{"lead-1", "lead-2"}, []string{"lead-3"}},
		{"leads list --until " + between, []string{"lead-2", "lead-3"}, []string{"lead-1"}},
		{"leads list --since 2020-02-03 --until 2020-02-04", []string{"odd"}, []string{"lead-"}},
		{"leads list --email LEAD-2@example.com", []string{"lead-2"}, []string{"lead-1"}},
		{"leads list --held", []string{"odd"}, []string{"lead-"}},
		{"leads list --email nobody@example.com", []string{"no leads to list"}, nil},
		{"leads list --email nobody@example.com --json", []string{"[]"}, nil},
		{"leads list --json --limit 1", []string{`"id": "lead-1"`, `"state": "delivered"`}, []string{"lead-2"}},
		{"leads show lead-1", []string{"submission", "lead-1", "1d00h ago", "Ana Pop", "1-2 EUR", "/api/quote/pdf?id=lead-1", "1 states from", "cms", "delivered", "crm", "delivered"}, []string{"phone"}},
		{"leads show Lead-1@example.com", []string{"lead-1", "delivered"}, nil},
		{"leads show odd", []string{"+40 721", "honeypot", "siteapi leads release odd", "no deliveries"}, []string{"\x1b", "\r", "\u202e", "session "}},
		{"leads show --json odd", []string{`"firstName": "=HYPERLINK(`, `"inReview": true`, `"deliveries": []`}, []string{"00-trace", `"session":`}},
		{"leads show --json lead-1", []string{`"session": {`, `"target": "cms"`}, nil},
		{"leads", []string{"list", "show", "export", "release", "erase"}, nil},
	}
	for _, tt := range tests {
		out, err := s.siteapi(strings.Fields(tt.args)...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
		}
		rest := out
		for _, want := range tt.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s does not say %q where it belongs:\n%s", tt.args, want, out)
				break
			}
			rest = after
		}
		for _, not := range tt.not {
			if strings.Contains(out, not) {
				t.Errorf("%s says %q:\n%s", tt.args, not, out)
			}
		}
	}
	for args, want := range map[string]string{
		"leads list --since soon":                    "--since: must be a duration",
		"leads list --until tomorrow":                "--until: must be a duration",
		"leads list --since 1d --until 2d":           "--until: must be later than --since",
		"leads list --limit -1":                      "must not be negative",
		"leads list lead-1":                          "one argument too many",
		"leads show":                                 "name one submission",
		"leads show lead-1 lead-2":                   "name one submission",
		"leads show lead-9":                          "there is no submission",
		"leads show nobody@example.com":              "there is no submission of that address",
		"leads export --format xml":                  "--format xml: must be one of csv, ndjson",
		"leads export --format ndjson --bom":         "--bom",
		"leads export --since soon":                  "--since",
		"leads export lead-1":                        "one argument too many",
		"leads export --output /nowhere/x/leads.csv": "--output",
		"leads mend":                                 "there is no command",
	} {
		if out, err := s.siteapi(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q\n%s", args, err, want, out)
		}
	}
}

// A lead that is on its way or has failed is shown so.
func TestLeadsListWhereabouts(t *testing.T) {
	t.Parallel()
	s, _, arrived, rejected, waiting := troubled(t)
	out, err := s.siteapi("leads", "list", "--json")
	var list []listedLead
	if err != nil || json.Unmarshal([]byte(out), &list) != nil {
		t.Fatalf("%v %s", err, out)
	}
	got := map[string]string{}
	for _, l := range list {
		got[l.ID] = l.State
	}
	for id, want := range map[string]string{arrived: leadArrived, rejected: leadFailed, waiting: leadUnderWay} {
		if got[id] != want {
			t.Errorf("%s is %q, want %q", id, got[id], want)
		}
	}
}

func TestLeadsExport(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	s.keep(t, odd())
	s.submitAt(t, "plain", time.Hour)
	out, err := s.siteapi("leads", "export")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 3 || len(rows[0]) != 19 || strings.Count(out, "\r\n") != 4 {
		t.Fatalf("%v, %d rows:\n%q", err, len(rows), out)
	}
	got := map[string]string{}
	for i, name := range rows[0] {
		got[name] = rows[1][i]
	}
	for name, want := range map[string]string{
		"submitted_at": "2020-02-03T04:05:06.789Z", "submission_id": "odd", "session_id": "'-1+1", "email": "odd@example.com", "locale": "",
		"first_name": `'=HYPERLINK("http://evil.example","x")`, "last_name": "Ionescu\x1b[31m, \"Ștefan\"\nX", "phone": "'+40 721",
		"company": "Țară; '=cmd|' /C calc'!A0 \u202egpj.exe", "project_type": "web-app", "features": "blog;shop", "complexity": "", "timeline": "3-months",
		"estimate_min": "1234.5", "estimate_max": "1000000000", "currency": "EUR", "pdf": "/api/quote/pdf?id=odd", "held": "true", "signals": "honeypot",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if rows[2][1] != "plain" || rows[2][6] != "" || rows[2][17] != "false" {
		t.Errorf("the second lead is %q", rows[2])
	}

	out, err = s.siteapi("leads", "export", "--format", "NDJSON", "--since", "2h")
	var lead leadView
	if err != nil || strings.Count(out, "\n") != 1 || json.Unmarshal([]byte(out), &lead) != nil || lead.ID != "plain" || lead.PDF != "/api/quote/pdf?id=plain" {
		t.Errorf("%v %s", err, out)
	}
	if out, err = s.siteapi("leads", "export", "--email", "odd@example.com", "--format", "ndjson"); err != nil || !strings.Contains(out, `"=HYPERLINK(`) || strings.Contains(out, "trace") {
		t.Errorf("%v %s", err, out)
	}

	path := filepath.Join(t.TempDir(), "leads.csv")
	if out, err = s.siteapi("leads", "export", "--bom", "-o", path); err != nil || !strings.Contains(out, "2 leads written to "+path) {
		t.Errorf("%v %s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(data, []byte("\xef\xbb\xbfsubmitted_at,")) {
		t.Errorf("%v %.40q", err, data)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if _, err = s.siteapi("leads", "export", "-o", path); err == nil || !strings.Contains(err.Error(), "--overwrite") {
		t.Errorf("an export overwrote a file: %v", err)
	}
	if again, _ := os.ReadFile(path); !bytes.Equal(again, data) {
		t.Error("the file changed")
	}
	if _, err = s.siteapi("leads", "export", "--overwrite", "--since", "2h", "-o", path); err != nil {
		t.Error(err)
	}
	if again, _ := os.ReadFile(path); bytes.Count(again, []byte("\n")) != 2 {
		t.Errorf("the file holds %q", again)
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("%d files lie in the folder", len(entries))
	}
}

// An export that fails in the middle leaves no file, and none of a name that was taken.
func TestExportThatFails(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	s.submitAt(t, "fine", 2*time.Hour)
	s.submitAt(t, "broken", time.Hour)
	s.stop()
	s.damage(t, `UPDATE submissions SET body = '{"id":' WHERE id = 'broken'`)
	dir := t.TempDir()
	out, err := s.siteapi("leads", "export", "--output", filepath.Join(dir, "leads.csv"))
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("%v %s", err, out)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind is %v", entries)
	}
}

func TestInert(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"":             "",
		"Ana":          "Ana",
		"a+b@c.d":      "a+b@c.d",
		"web-app":      "web-app",
		"=1+1":         "'=1+1",
		"+40":          "'+40",
		"-1":           "'-1",
		"@SUM(A1)":     "'@SUM(A1)",
		"  =1":         "  '=1",
		"\t=1":         "\t'=1",
		"\"=1":         "\"'=1",
		"a;=1":         "a;'=1",
		"a; \"=1":      "a; \"'=1",
		"a\r\n=1":      "a\r\n'=1",
		"a,@b":         "a,'@b",
		"a|+1":         "a|'+1",
		"＝1":           "'＝1",
		"==1":          "'==1",
		"a = b":        "a = b",
		"\u00a0=1":     "\u00a0'=1",
		"Ș-a;-b;c-d;＠": "Ș-a;'-b;c-d;'＠",
	} {
		if got := inert(cell); got != want {
			t.Errorf("inert(%q) = %q, want %q", cell, got, want)
		}
	}
}
