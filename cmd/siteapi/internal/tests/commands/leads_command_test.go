package commands

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
)

// oddLead is a lead in review with values that need escaping.
func oddLead() lead.Lead {
	return lead.Lead{
		ID:        "odd1odd2odd3",
		SessionID: "-1+1",
		Contact: lead.Contact{
			FirstName: `=HYPERLINK("http://evil.example","x")`,
			LastName:  "Ionescu\x1b[31m, \"Ștefan\"\r\nX",
			Email:     "odd@example.com",
			Phone:     "+40 721",
			Company:   "Țară; =cmd|' /C calc'!A0 \u202egpj.exe",
		},
		Selections: lead.Selections{
			ProjectType: "web-app",
			Features:    []string{"blog", "shop"},
			Timeline:    "3-months",
		},
		Estimate:    lead.Estimate{Min: 1234.5, Max: 1e9, Currency: "EUR"},
		SubmittedAt: time.Date(2020, 2, 3, 4, 5, 6, 789e6, time.UTC),
		InReview:    true,
		Signals:     []lead.Signal{lead.Honeypot},
		Trace:       "00-trace-01",
	}
}

// A lead is found by its id, by the reference on its PDF, by its address and by the time
// it was submitted.
func TestLeadsAreFound(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t)
	s.Store(nil, oddLead())
	s.Start()
	first, second := s.Submit("first"), s.Submit("second")
	s.Arrives(first)
	s.Arrives(second)
	reference := lead.Reference(first)

	s.Prints("leads list",
		"REFERENCE", lead.Reference(second), "DELIVERED", "15100 20400.5 EUR", "Ana", "Ionescu", "second@example.com", "web-app", "ro",
		reference, "ODD1ODD2", "2020-02-03 04:05:06", "IN_REVIEW", "1234.5 1000000000 EUR",
	).Without("\x1b", "\u202e", "\r")
	s.Prints("leads list --since 2020-02-03 --until 2020-02-04", "odd@").Without("first@")
	s.Prints("leads list --email FIRST@example.com", "first@").Without("second@")
	s.Prints("leads list --search "+strings.ToLower(reference), "first@").Without("second@", "odd@")
	s.Prints("leads list --state Delivered --search ana", "second@", "first@").Without("odd@")
	s.Prints("leads list --email unknown@example.com", "no leads")
	s.Prints("leads list --json --limit 1", `"id": "`+second, `"reference": "`, `"target": "CMS"`).Without(first)
	s.Prints("leads show "+strings.ToLower(reference),
		first, reference, "contact.firstName          Ana", "+40 721 000 000", "Țară SRL", "selections.features        blog, shop", "20400.5",
		"/api/quote/pdf?id="+first, "deliveries", "ID", "TARGET", "CMS", "DELIVERED", "CRM", "DELIVERED",
	).Without("second@", "IN_REVIEW")
	s.Prints("leads show odd1odd2odd3", "IN_REVIEW", "+40 721", "honeypot").Without("\x1b", "\r", "\u202e")
	s.Prints("leads export --search "+reference, "reference,submittedAt,", reference+",", ","+first+"\n").Without(second)

	s.Refuses(map[string]string{
		"leads list --since soon":                    `"--since" flag: must be a duration`,
		"leads list --since -213502d":                `"--since" flag: must be a duration`,
		"leads show 12345678":                        "There is no lead 12345678",
		"leads export --output /nowhere/x/leads.csv": "--output",
	})

	for _, args := range [][]string{
		{"leads", "export", "--email", ""},
		{"leads", "list", "--search", " "},
		{"leads", "list", "--search", "\ufeff"},
		{"leads", "show", "\u200b"},
		{"deliveries", "list", "--lead", ""},
	} {
		if out, code := s.Run(args...); code != 1 || !strings.Contains(out, "must not be empty") {
			t.Errorf("%q: exit code %d, %s", args, code, out)
		}
	}
}

func TestLeadsExport(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t)
	plain := oddLead()
	plain.ID, plain.SessionID, plain.InReview, plain.Signals, plain.SubmittedAt =
		"plain", "s", false, nil, time.Now().Add(-time.Hour).UTC()
	s.Store(nil, oddLead(), plain)

	out := s.Prints("leads export").Out
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 3 || strings.Count(out, "\r\n") != 2 { // those in the names
		t.Fatalf("%v, %d rows:\n%q", err, len(rows), out)
	}

	got := map[string]string{}
	for i, name := range rows[0] {
		got[name] = rows[1][i]
	}

	for name, want := range map[string]string{
		"submittedAt":           "2020-02-03T04:05:06.789Z",
		"id":                    "odd1odd2odd3",
		"sessionId":             "'-1+1",
		"contact.firstName":     `'=HYPERLINK("http://evil.example","x")`,
		"contact.lastName":      "Ionescu\x1b[31m, \"Ștefan\"\nX",
		"contact.phone":         "+40 721",
		"contact.company":       "Țară; '=cmd|' /C calc'!A0 \u202egpj.exe",
		"selections.features":   "blog;shop",
		"selections.complexity": "",
		"selections.quantities": "",
		"estimate.max":          "1000000000",
		"estimate.toBeAgreed":   "false",
		"state":                 "IN_REVIEW",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}

	checkWorkbook(t, s)

	path := filepath.Join(t.TempDir(), "leads.csv")
	s.Prints("leads export -o "+path, path+": written")
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(data, []byte("reference,submittedAt,")) {
		t.Errorf("%v %.40q", err, data)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}

	s.Refuses(map[string]string{"leads export -o " + path: "--overwrite"})
	if again, _ := os.ReadFile(path); !bytes.Equal(again, data) {
		t.Error("the file changed")
	}

	// A failed export leaves no partial file, and does not change an existing one.
	s.Damage(`UPDATE leads SET body = '{"id":' WHERE id = 'plain'`)
	s.Refuses(map[string]string{"leads export --overwrite -o " + path: "went wrong"})
	entries, _ := os.ReadDir(filepath.Dir(path))
	if now, _ := os.ReadFile(path); len(entries) != 1 || !bytes.Equal(now, data) {
		t.Errorf("the folder has %d files, and the export contains %q", len(entries), now)
	}
}

// checkWorkbook checks that a workbook has the leads of the CSV file for people.
func checkWorkbook(t *testing.T, s *apptest.Site) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "leads.xlsx")
	s.Prints("leads export --xlsx --language ro -o "+path, path+": written")
	file, err := os.ReadFile(path)
	must(t, err)
	rows := apptest.OpenWorkbook(t, file)
	if len(rows) != 3 || len(rows[0]) != len(rows[1]) {
		t.Fatalf("the workbook has the rows %q", rows)
	}

	got := map[string]string{}
	for i, heading := range rows[0] {
		got[heading] = rows[1][i]
	}
	for heading, want := range map[string]string{
		"Primit":           "2020-02-03 04:05",
		"Id":               "odd1odd2odd3",
		"Sesiune":          "-1+1",
		"Prenume":          `=HYPERLINK("http://evil.example","x")`,
		"Telefon":          "+40 721",
		"Companie":         "Țară; =cmd|' /C calc'!A0 \u202egpj.exe",
		"Funcționalități":  "blog, shop",
		"Complexitate":     "",
		"Cantități":        "",
		"Estimare de la":   "1,234.50",
		"Estimare până la": "1,000,000,000.00",
		"Preț de stabilit": "nu",
		"Stare":            "in-review",
	} {
		if cell, ok := got[heading]; !ok || cell != want {
			t.Errorf("%s is %q, want %q", heading, cell, want)
		}
	}
	s.Refuses(map[string]string{"leads export --xlsx --language fr": `--language: must be one of ["en" "es" "ro"]`})
}
