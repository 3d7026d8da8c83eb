package deliveries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
)

func TestKilledRightAfterAnAnsweredSubmit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := apptest.Launch(t, dir)

	var ids []string
	for i := range 5 {
		status, answer := first.Post("/api/quote/submit", apptest.ValidLead(fmt.Sprintf("kill-%d", i)))
		if status != http.StatusOK {
			t.Fatalf("submit: %d %v", status, answer)
		}
		ids = append(ids, answer["submissionId"].(string))
	}

	if err := first.End(syscall.SIGKILL); err == nil {
		t.Fatal("the process was not killed")
	}

	second := apptest.Launch(t, dir)
	for i, id := range ids {
		if pdf := second.Do(http.MethodGet, "/api/quote/pdf?id="+id, ""); pdf.Status != http.StatusOK ||
			!bytes.HasPrefix(pdf.Body, []byte("%PDF-")) {
			t.Errorf("after the restart the PDF answers %d %.20q", pdf.Status, pdf.Body)
		}

		if _, again := second.Post("/api/quote/submit",
			apptest.ValidLead(fmt.Sprintf("kill-%d", i))); again["submissionId"] != id {
			t.Errorf("the same submission after the restart got the id %v, want %s",
				again["submissionId"], id)
		}

		apptest.Eventually(t, "the delivery to the CMS arrives", func() bool {
			_, err := os.Stat(filepath.Join(dir, "cms", "quoteSubmission."+id+".json"))
			return err == nil
		})
	}

	s := &apptest.Service{T: t, DataDir: dir}
	apptest.Eventually(t, "the delivery to the CRM arrives", func() bool { return len(s.Files("crm")) == 1 })
	if got := len(s.Files("cms")); got != len(ids) {
		t.Errorf("the CMS has %d documents, want %d", got, len(ids))
	}
}

func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := apptest.Launch(t, dir)

	answers := make(chan int, 40)
	for i := range cap(answers) {
		go func() {
			body, _ := json.Marshal(apptest.ValidLead(fmt.Sprintf("stop-%d", i)))
			resp, err := http.Post(r.Base+"/api/quote/submit", "application/json", bytes.NewReader(body))
			if err != nil {
				answers <- 0 // refused: the listener was closed already
				return
			}
			_ = resp.Body.Close()
			answers <- resp.StatusCode
		}()
	}

	time.Sleep(5 * time.Millisecond)
	if err := r.End(syscall.SIGTERM); err != nil {
		t.Errorf("stopping: %v", err)
	}

	accepted := 0
	for range cap(answers) {
		switch status := <-answers; status {
		case http.StatusOK:
			accepted++
		case 0:
		default:
			t.Errorf("a request got %d while the service stopped", status)
		}
	}

	again := apptest.Launch(t, dir)
	s := &apptest.Service{T: t, DataDir: dir}
	apptest.Eventually(t, "every accepted lead is delivered", func() bool { return len(s.Files("cms")) >= accepted })
	if err := again.End(syscall.SIGTERM); err != nil {
		t.Errorf("stopping again: %v", err)
	}
}

func TestStartRefusesBadSettings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  []string
		want []string
	}{
		{"production without tokens", nil,
			[]string{"CACHE_API_TOKEN: is required", "CMS_WEBHOOK_SECRET: is required"}},
		{
			"production with the known tokens",
			[]string{
				"CACHE_API_TOKEN=x," + config.DevCacheToken,
				"CMS_WEBHOOK_SECRET=" + config.DevWebhookSecret,
			},
			[]string{
				"CACHE_API_TOKEN: holds the well-known value",
				"CMS_WEBHOOK_SECRET: holds the well-known value",
			},
		},
		{
			"everything at once",
			[]string{
				"ENVIRONMENT=prod",
				"LISTEN_ADDR=8080",
				"CACHE_API_TOKEN=x," + config.DevCacheToken,
				"CMS_WEBHOOK_SECRET=,",
			},
			[]string{
				"ENVIRONMENT: must be one of",
				"LISTEN_ADDR: must be",
				"CACHE_API_TOKEN: holds the well-known value",
				"CMS_WEBHOOK_SECRET: is required",
			},
		},
		{
			"drivers without their settings",
			[]string{"ENVIRONMENT=development", "CMS_DRIVER=sanity", "CRM_DRIVER=hubspot"},
			[]string{
				"SANITY_PROJECT_ID: is required",
				"SANITY_TOKEN: is required",
				"HUBSPOT_TOKEN: is required",
			},
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, code := apptest.Command(t, tt.env, "serve")
			if code == 0 {
				t.Error("the service started")
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
		})
	}
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
		"CONTENT_TTL=3m",
		"CMS_DRIVER=file",
		"CMS_FILE=" + apptest.OwnContent(t),
	}, "config")

	if code != 0 || strings.Contains(out, "hush") {
		t.Errorf("exit code %d:\n%s", code, out)
	}

	for _, want := range []string{
		"CACHE_API_TOKEN=(secret, 2 value(s))",
		"CONTENT_TTL=3m",
		"ENVIRONMENT=production",
		"LISTEN_ADDR=127.0.0.1:0",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not print %s:\n%s", want, out)
		}
	}
}

func TestTheAddressIsTaken(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir())
	out, code := apptest.Command(t,
		[]string{"ENVIRONMENT=development", "LISTEN_ADDR=" + strings.TrimPrefix(r.Base, "http://")}, "serve")
	if code == 0 || !strings.Contains(out, "LISTEN_ADDR") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
