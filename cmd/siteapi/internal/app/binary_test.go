package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	cmsfile "siteapi/integrations/cms/file"
	"strings"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/config"
)

// binary is the service as users get it, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	// Manuals, deployment files and the command itself are named from its folder.
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	dir, err := os.MkdirTemp("", "siteapi-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	binary = filepath.Join(dir, "siteapi")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stderr = os.Stderr

	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}

	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// running is a started binary.
type running struct {
	t    *testing.T
	cmd  *exec.Cmd
	base string
	log  *syncBuffer // the output
}

// skipWithout skips a test whose machine lacks something, as the error of looking for it says.
// Where SITEAPI_TEST_SERVICES is "required", as in CI, the test fails.
func skipWithout(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("SITEAPI_TEST_SERVICES") == "required":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// launch starts the binary on a data folder and waits until it answers.
func launch(t *testing.T, dataDir string, env ...string) *running {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "serve")
	cmd.Env = append([]string{
		"ENVIRONMENT=development",
		"LOG_FORMAT=json",
		"RATE_LIMITS=off",
		"ADMIN_ADDR=off",
		"LISTEN_ADDR=127.0.0.1:0",
		"DATA_DIR=" + dataDir,
	}, env...)

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	r := &running{t: t, cmd: cmd, log: &syncBuffer{}}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		_, _ = r.log.Write(append(lines.Bytes(), '\n'))
		var event struct{ Message, Address string }
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Message == "ready" {
			r.base = "http://" + event.Address
			go func() {
				for lines.Scan() {
					_, _ = r.log.Write(append(lines.Bytes(), '\n'))
				}
			}()
			return r
		}
	}

	t.Fatalf("the service did not get ready: %s", errOut.String())
	return nil
}

// do sends a request as [service.do] does.
func (r *running) do(method, path, body string, headers ...string) response {
	r.t.Helper()
	return (&service{t: r.t, base: r.base}).do(method, path, body, headers...)
}

// query runs a GraphQL operation and returns the whole answer.
func (r *running) query(document string) string {
	r.t.Helper()
	return string((&service{t: r.t, base: r.base}).query(document, nil).body)
}

// post sends JSON and returns the status and the answer, which is JSON too.
func (r *running) post(path string, body any) (int, map[string]any) {
	r.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		r.t.Fatal(err)
	}

	got := r.do(http.MethodPost, path, string(data))
	var answer map[string]any
	if err := json.Unmarshal(got.body, &answer); err != nil {
		r.t.Fatal(err)
	}
	return got.status, answer
}

// end sends a signal and waits.
func (r *running) end(sig syscall.Signal) error {
	if err := r.cmd.Process.Signal(sig); err != nil {
		return err
	}
	return r.cmd.Wait()
}

func TestKilledRightAfterAnAnsweredSubmit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := launch(t, dir)

	var ids []string
	for i := range 5 {
		status, answer := first.post("/api/quote/submit", validLead(fmt.Sprintf("kill-%d", i)))
		if status != http.StatusOK {
			t.Fatalf("submit: %d %v", status, answer)
		}
		ids = append(ids, answer["submissionId"].(string))
	}

	if err := first.end(syscall.SIGKILL); err == nil {
		t.Fatal("the process was not killed")
	}

	second := launch(t, dir)
	for i, id := range ids {
		if pdf := second.do(http.MethodGet, "/api/quote/pdf?id="+id, ""); pdf.status != http.StatusOK ||
			!bytes.HasPrefix(pdf.body, []byte("%PDF-")) {
			t.Errorf("after the restart the PDF answers %d %.20q", pdf.status, pdf.body)
		}

		if _, again := second.post("/api/quote/submit",
			validLead(fmt.Sprintf("kill-%d", i))); again["submissionId"] != id {
			t.Errorf("the same submission after the restart got the id %v, want %s",
				again["submissionId"], id)
		}

		eventually(t, "the delivery to the CMS arrives", func() bool {
			_, err := os.Stat(filepath.Join(dir, "cms", "quoteSubmission."+id+".json"))
			return err == nil
		})
	}

	s := &service{t: t, dataDir: dir}
	eventually(t, "the delivery to the CRM arrives", func() bool { return len(s.files("crm")) == 1 })
	if got := len(s.files("cms")); got != len(ids) {
		t.Errorf("the CMS has %d documents, want %d", got, len(ids))
	}
}

func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := launch(t, dir)

	answers := make(chan int, 40)
	for i := range cap(answers) {
		go func() {
			body, _ := json.Marshal(validLead(fmt.Sprintf("stop-%d", i)))
			resp, err := http.Post(r.base+"/api/quote/submit", "application/json", bytes.NewReader(body))
			if err != nil {
				answers <- 0 // refused: the listener was closed already
				return
			}
			_ = resp.Body.Close()
			answers <- resp.StatusCode
		}()
	}

	time.Sleep(5 * time.Millisecond)
	if err := r.end(syscall.SIGTERM); err != nil {
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

	again := launch(t, dir)
	s := &service{t: t, dataDir: dir}
	eventually(t, "every accepted lead is delivered", func() bool { return len(s.files("cms")) >= accepted })
	if err := again.end(syscall.SIGTERM); err != nil {
		t.Errorf("stopping again: %v", err)
	}
}

// command runs the binary with a few settings and returns its output and exit code.
func command(t *testing.T, env []string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append([]string{"DATA_DIR=" + t.TempDir(), "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=off"}, env...)

	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// ownContent returns the path of a content file that is not the sample.
func ownContent(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.json")
	if err := os.WriteFile(path, append(cmsfile.Sample(), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
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
			out, code := command(t, tt.env, "serve")
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
	out, code := command(t, []string{
		"CACHE_API_TOKEN=hush1,hush2",
		"CMS_WEBHOOK_SECRET=hush3",
		"CMS_WEBHOOK_SIGNING_SECRET=hush4",
		"HUBSPOT_TOKEN=hush5",
		"SANITY_TOKEN=hush6",
		"DATABASE_URL=postgres://u:hush7@h/d",
		"CACHE_URL=valkey://u:hush8@h",
		"CONTENT_TTL=3m",
		"CMS_DRIVER=file",
		"CMS_FILE=" + ownContent(t),
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
	r := launch(t, t.TempDir())
	out, code := command(t,
		[]string{"ENVIRONMENT=development", "LISTEN_ADDR=" + strings.TrimPrefix(r.base, "http://")}, "serve")
	if code == 0 || !strings.Contains(out, "LISTEN_ADDR") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
