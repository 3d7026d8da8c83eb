package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"siteapi/integrations/crm"
)

// build builds the service.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "siteapi")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "siteapi/cmd/siteapi").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return binary
}

func TestLeads(t *testing.T) {
	t.Parallel()
	var out, notes bytes.Buffer
	err := run(t.Context(), []string{"leads", "-binary", build(t), "-submissions", "40", "-kills", "3", "-seed", "11", "-patience", "2m"}, &out, &notes)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, notes.String(), out.String())
	}
	for _, want := range []string{
		`submissions acknowledged +40 `, `submissions stored +40 `, `documents in the CMS +40 `, `contacts in the CRM +40 `,
		`duplicates +0 `, `wrong values +0 `, `other id when asked again +0 `, `not delivered +0 `, `kills +3 `, `every lead arrived, once`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	if failed := regexp.MustCompile(`(\d+) of (\d+) calls failed`).FindAllStringSubmatch(out.String(), -1); len(failed) != 2 || failed[0][1] == "0" || failed[1][1] == "0" {
		t.Errorf("nothing failed:\n%s", out.String())
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                            "name a scenario: all, clock",
		"nonsense":                    "there is no scenario",
		"leads -submissions 0":        "must be at least 1",
		"leads -rate 1":               "below 1",
		"leads -binary /nowhere/to/x": "make build",
		"leads -what":                 "not defined",
		"kills -kills -1":             "at least 0",
		"kills more":                  "nothing after the flags",
		"kills -binary /nowhere":      "make build",
		"fuzz -only [":                "-only",
		"fuzz -only NoSuchTarget":     "no such fuzz target",
	} {
		var out bytes.Buffer
		if err := run(context.Background(), strings.Fields(args), &out, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// TestCompare makes sure that whatever is lost, doubled or changed is counted.
func TestCompare(t *testing.T) {
	t.Parallel()
	doc := func(id, session, email string) string {
		return `{"_id":"quoteSubmission.` + id + `","_type":"quoteSubmission","submissionId":"` + id + `","sessionId":"` + session + `","submittedAt":"2026-01-31T09:30:00.000Z",
			"contact":{"firstName":"Visitor","lastName":"Ștefan-00000","email":"` + email + `","phone":"+40 21 555 0100"},"estimate":{"min":1000,"max":2000,"currency":"EUR"},"locale":"en"}`
	}
	contact := func(id string) map[string]string {
		return map[string]string{
			"email": "visitor-00000@example.com", "lastname": "Ștefan-00000", crm.PropSubmissionID: id, crm.PropFeatures: "blog;payments", crm.PropCurrency: "EUR",
		}
	}
	good := doc("a", "chaos-00000", "visitor-00000@example.com")
	for name, tt := range map[string]struct {
		docs     []string
		contacts []map[string]string
		want     tally
	}{
		"as it should be":         {[]string{good}, []map[string]string{contact("a")}, tally{1, 1, 0, 0}},
		"no document":             {nil, []map[string]string{contact("a")}, tally{0, 1, 0, 1}},
		"no contact":              {[]string{good}, nil, tally{1, 0, 0, 1}},
		"two documents":           {[]string{good, doc("b", "chaos-00000", "visitor-00000@example.com")}, []map[string]string{contact("a")}, tally{2, 1, 1, -1}},
		"two contacts":            {[]string{good}, []map[string]string{contact("a"), contact("a")}, tally{1, 2, 1, 0}},
		"another address":         {[]string{doc("a", "chaos-00000", "x@example.com")}, []map[string]string{contact("a")}, tally{1, 1, 0, 1}},
		"the contact of another":  {[]string{good}, []map[string]string{contact("b")}, tally{1, 1, 0, 1}},
		"a contact without quote": {[]string{good}, []map[string]string{{"email": "visitor-00000@example.com", "lastname": "Ștefan-00000"}}, tally{1, 1, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			far, err := newFarEnds()
			if err != nil {
				t.Fatal(err)
			}
			defer far.close()
			var docs []json.RawMessage
			for _, d := range tt.docs {
				docs = append(docs, json.RawMessage(d))
			}
			if err := far.cms.Replace(docs...); err != nil {
				t.Fatal(err)
			}
			for _, c := range tt.contacts {
				far.crm.Add(c)
			}
			l, err := newLead(0)
			if err != nil {
				t.Fatal(err)
			}
			l.id = "a"
			got, err := far.compare([]*lead{l})
			if err != nil {
				t.Fatal(err)
			}
			if tt.want.wrong < 0 {
				got.wrong = tt.want.wrong // which of two documents is looked at is left to chance
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
