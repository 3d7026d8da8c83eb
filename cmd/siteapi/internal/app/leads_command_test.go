package app

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
)

// odd is a lead in review with texts that need escaping.
func odd() lead.Lead {
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

// A lead is found by its id, by the reference on its PDF, by its address and by its time.
func TestLeadsAreFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.keep(nil, odd())
	s.start()
	first, second := s.submit("first"), s.submit("second")
	s.arrives(first)
	s.arrives(second)
	reference := lead.Reference(first)

	s.says(

		said{
			"leads list",
			[]string{
				"REFERENCE", lead.Reference(second), "delivered", "15100 20400.5 EUR", "Ana", "Ionescu",
				"second@example.com", "web-app", "ro",
				reference, "ODD1ODD2", "2020-02-03 04:05:06", "in-review", "1234.5 1000000000 EUR",
			},
			[]string{"\x1b", "\u202e", "newest", "\r"},
		},
		said{"leads list --limit 1", []string{"second@example.com", "--limit 0 lists all"}, []string{"first@"}},
		said{"leads list --since 1h", []string{"second@", "first@"}, []string{"odd@"}},
		said{"leads list --since 2020-02-03 --until 2020-02-04", []string{"odd@"}, []string{"first@"}},
		said{"leads list --email FIRST@example.com", []string{"first@"}, []string{"second@"}},
		said{"leads list --search " + strings.ToLower(reference),
			[]string{"first@"}, []string{"second@", "odd@"}},
		said{"leads list --search fir", []string{"first@"}, []string{"second@", "odd@"}},
		said{"leads list --state in-review", []string{"odd@"}, []string{"first@"}},
		said{"leads list --state Delivered --search ana", []string{"second@", "first@"}, []string{"odd@"}},
		said{"leads list --email unknown@example.com", []string{"no leads"}, nil},
		said{"leads list --email unknown@example.com --json", []string{"[]"}, nil},
		said{"leads list --json --limit 1",
			[]string{`"id": "` + second, `"reference": "`, `"target": "CMS"`}, []string{first}},
		said{
			"leads show " + reference,
			[]string{
				first, reference, "contact.firstName          Ana", "+40 721 000 000", "Țară SRL",
				"selections.features.1      shop", "20400.5",
				"deliveries.0.target        CMS", "deliveries.1.state         DELIVERED",
				"/api/quote/pdf?id=" + first,
			},
			[]string{"second@", "IN_REVIEW"},
		},
		said{"leads show " + strings.ToLower(reference), []string{first}, nil},
		said{"leads show " + first, []string{"first@example.com"}, nil},
		said{"leads show odd1odd2odd3", []string{"IN_REVIEW", "+40 721", "honeypot"},
			[]string{"\x1b", "\r", "\u202e"}},
		said{"leads show --json ODD1ODD2", []string{`"firstName": "=HYPERLINK(`}, []string{"00-trace"}},
		said{"leads show --json " + reference, []string{`"target": "CMS"`}, nil},
		said{"leads export --search " + reference,
			[]string{"submission_id,reference", first + "," + reference}, []string{second}},
		said{"leads", []string{"erase", "export", "list", "reject", "release", "show"}, nil},
	)

	s.refuses(map[string]string{
		"leads list --since soon":     `"--since" flag: must be a duration`,
		"leads list --since 213505d":  `"--since" flag: must be a duration`,
		"leads list --since -213502d": `"--since" flag: must be a duration`,
		"leads list --until tomorrow": `"--until" flag: must be a duration`,
		"leads list --limit -1": `"-1" for "--limit" flag: ` +
			`must be a whole number, 0: all`,
		"leads list " + reference:   "one argument too many",
		"leads show":                "give <id> …",
		"leads show 12345678":       "not found",
		"leads export --format xml": `"--format" flag: must be one of csv, ndjson`,
		"leads list --state lost": "must be one of in-review, rejected, " +
			"under-way, failed, delivered",
		"leads export --output /nowhere/x/leads.csv": "--output",
		"leads release": "give <ids> …",
	})

	for _, args := range [][]string{
		{"leads", "export", "--email", ""},
		{"leads", "list", "--search", " "},
		{"deliveries", "list", "--submission", ""},
	} {
		if out, code := s.run(args...); code != 1 || !strings.Contains(out, "must not be empty") {
			t.Errorf("%q: exit code %d, %s", args, code, out)
		}
	}
}

// A lead in review is delivered once it is released, and only then.
func TestLeadsRelease(t *testing.T) {
	t.Parallel()
	s := newSite(t).start()
	bot := newLead("bot")
	bot["website"] = "https://spam.example"
	_, reply := s.post("/api/quote/submit", bot)
	id, _ := reply["submissionId"].(string)

	if d := s.deliveriesOf(id); len(d) != 0 {
		t.Fatalf("a lead in review is delivered: %+v", d)
	}

	s.refuses(map[string]string{"deliveries resend " + id + " --target cms": "release it first"})
	s.says(said{"deliveries verify --fix", []string{"0 submissions compared"}, nil})

	s.says(
		said{"leads reject " + id, []string{"changed                    1"}, nil},
		said{"leads list --state rejected", []string{lead.Reference(id)}, nil},
		said{"leads release --all", []string{"changed                    0"}, nil},
		said{"leads release " + lead.Reference(id), []string{"changed                    1"}, nil},
	)

	s.arrives(id)
	for _, action := range []string{"release", "reject"} {
		if out, code := s.run("leads", action, id); code != 2 || !strings.Contains(out, "not-in-review") {
			t.Errorf("%s a delivered lead: %d %s", action, code, out)
		}
	}
}

func TestLeadsExport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	plain := odd()
	plain.ID, plain.SessionID, plain.InReview, plain.Signals, plain.SubmittedAt =
		"plain", "s", false, nil, time.Now().Add(-time.Hour).UTC()
	s.keep(nil, odd(), plain)

	out, code := s.run("leads", "export")
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(out, "\ufeff"))).ReadAll()
	if err != nil || code != 0 || len(rows) != 3 || strings.Count(out, "\r\n") != 5 {
		t.Fatalf("%v, %d rows:\n%q", err, len(rows), out)
	}

	got := map[string]string{}
	for i, name := range rows[0] {
		got[name] = rows[1][i]
	}

	for name, want := range map[string]string{
		"submitted_at":  "2020-02-03T04:05:06.789Z",
		"submission_id": "odd1odd2odd3",
		"reference":     "ODD1ODD2",
		"session_id":    "'-1+1",
		"email":         "odd@example.com",
		"first_name":    `'=HYPERLINK("http://evil.example","x")`,
		"last_name":     "Ionescu\x1b[31m, \"Ștefan\"\nX",
		"phone":         "0040 721",
		"locale":        "",
		"company":       "Țară; '=cmd|' /C calc'!A0 \u202egpj.exe",
		"project_type":  "web-app",
		"features":      "blog;shop",
		"complexity":    "",
		"timeline":      "3-months",
		"estimate_min":  "1234.5",
		"estimate_max":  "1000000000",
		"currency":      "EUR",
		"pdf":           "/api/quote/pdf?id=odd1odd2odd3",
		"state":         "in-review",
		"signals":       "honeypot",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}

	out, code = s.run("leads", "export", "--format", "NDJSON", "--since", "2h")
	var one struct{ ID, Reference, PDFURL string }
	if code != 0 || strings.Count(out, "\n") != 1 || json.Unmarshal([]byte(out), &one) != nil ||
		one.ID != "plain" || one.Reference != "PLAIN" || one.PDFURL != "/api/quote/pdf?id=plain" ||
		strings.Contains(out, "trace") {
		t.Errorf("%d %s", code, out)
	}

	path := filepath.Join(t.TempDir(), "leads.csv")
	s.says(said{"leads export -o " + path, []string{path + ": 2 leads"}, nil})
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(data, []byte("\xef\xbb\xbfsubmitted_at,")) {
		t.Errorf("%v %.40q", err, data)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}

	s.refuses(map[string]string{"leads export -o " + path: "--overwrite"})
	if again, _ := os.ReadFile(path); !bytes.Equal(again, data) {
		t.Error("the file changed")
	}
	s.says(said{"leads export --overwrite --since 2h -o " + path, []string{": 1 leads"}, nil})

	// An export that fails in the middle leaves no file, and an older one as it was.
	s.damage(`UPDATE leads SET body = '{"id":' WHERE id = 'plain'`)
	s.refuses(map[string]string{"leads export --overwrite -o " + path: "plain"})
	entries, _ := os.ReadDir(filepath.Dir(path))
	if now, _ := os.ReadFile(path); len(entries) != 1 || bytes.Count(now, []byte("\r\n")) != 3 {
		t.Errorf("%d files lie in the folder, and the export holds %q", len(entries), now)
	}
}
