package deliveries

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestKilledRightAfterSubmit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := apptest.Launch(t, dir)

	var ids []string
	for i := range 5 {
		ids = append(ids, first.Submit(fmt.Sprintf("kill-%d", i)))
	}

	if err := first.End(syscall.SIGKILL); err == nil {
		t.Fatal("the process was not killed")
	}

	second := apptest.Launch(t, dir)
	for i, id := range ids {
		if pdf := second.Do("GET", "/api/quote/pdf?id="+id, ""); pdf.Status != 200 ||
			!bytes.HasPrefix(pdf.Body, []byte("%PDF-")) {
			t.Errorf("after the restart the PDF has status %d: %.20q", pdf.Status, pdf.Body)
		}

		if again := second.Submit(fmt.Sprintf("kill-%d", i)); again != id {
			t.Errorf("the same request after the restart returned the id %s, want %s", again, id)
		}
	}

	s := &apptest.Client{T: t, DataDir: dir}
	apptest.Eventually(t, "each lead is delivered once", func() bool {
		return len(s.Files("cms")) == len(ids) && len(s.Files("crm")) == len(ids)
	})
}

func TestConfigRedactsSecrets(t *testing.T) {
	t.Parallel()
	out, code := apptest.Command(t, []string{
		"CACHE_API_TOKEN=hush1,hush2",
		"CMS_WEBHOOK_SECRET=hush3",
		"CMS_WEBHOOK_SIGNING_SECRET=hush4",
		"HUBSPOT_TOKEN=hush5",
		"SANITY_TOKEN=hush6",
		"DATABASE_URL=postgres://u:hush7@h/d",
		"CACHE_URL=valkey://u:hush8@h",
		"CMS_DRIVER=file",
		"CMS_FILE=" + apptest.OwnContent(t),
	}, "config")

	if code != 0 || strings.Contains(out, "hush") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
