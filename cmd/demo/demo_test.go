package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "siteapi")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "siteapi/cmd/siteapi").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for drivers, wants := range map[string][]string{
		"file": {`The new title was in the first answer, [0-9.]+ ms`, `CMS +/`},
		"real": {
			`property quote_pdf_url: created`, `⇢ Sanity  POST /v2025-02-19/data/query/production`, `⇢ Sanity  POST /v2025-02-19/data/mutate/production.* → 200`,
			`⇢ HubSpot POST /crm/v3/objects/contacts → 201`, `⇠ Sanity  POST /api/webhooks/cms, signed`, `The new title was served \d+ ms after`,
			`CRM +contact \d+: stefania`,
		},
	} {
		t.Run(drivers, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := run(t.Context(), []string{"-binary", binary, "-dir", t.TempDir(), "-drivers", drivers}, &out)
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			if !strings.HasSuffix(out.String(), "leads: 3 stored, 6 of 6 deliveries made\n") {
				t.Errorf("it ends with %q", out.String()[max(0, out.Len()-100):])
			}
			for _, want := range wants {
				if !regexp.MustCompile(want).MatchString(out.String()) {
					t.Errorf("it does not print %s", want)
				}
			}
		})
	}
	if err := run(t.Context(), []string{"-drivers", "paper"}, &bytes.Buffer{}); err == nil {
		t.Error("drivers that there are not were accepted")
	}
}
