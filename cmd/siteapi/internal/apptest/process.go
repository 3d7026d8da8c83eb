package apptest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	cmsfile "siteapi/integrations/cms/file"
)

// DefaultLimits returns the environment of a service with its default limits.
func DefaultLimits(t *testing.T) []string {
	return []string{
		"ENVIRONMENT=production",
		"CMS_DRIVER=file",
		"CMS_FILE=" + OwnContent(t),
		"RATE_LIMITS=on",
		"CACHE_API_TOKEN=token-of-the-cache",
		"CMS_WEBHOOK_SECRET=secret-of-the-webhook",
	}
}

// Process is the running binary.
type Process struct {
	Client
	Cmd    *exec.Cmd
	logged sync.WaitGroup // until the last line of the log is read
}

// SkipWithout skips a test if err reports a missing program. If SITEAPI_TEST_SERVICES is
// "required", as in CI, the test fails instead.
func SkipWithout(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("SITEAPI_TEST_SERVICES") == "required":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// Launch starts the binary with a data folder, and waits until it is ready.
func Launch(t *testing.T, dataDir string, env ...string) *Process {
	t.Helper()
	return LaunchAfter(t, ":", dataDir, env...)
}

// LaunchAfter is Launch in the process of a shell, after a command that changes the process.
func LaunchAfter(t *testing.T, command, dataDir string, env ...string) *Process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command+`; exec "$0" serve`, Binary)
	cmd.Env = append([]string{"LISTEN_ADDR=127.0.0.1:0"}, defaults(dataDir, env)...)

	out, err := cmd.StdoutPipe()
	must(t, err)

	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	r := &Process{Client: Client{T: t, DataDir: dataDir, Log: &SyncBuffer{}}, Cmd: cmd}
	output := io.TeeReader(out, r.Log)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		var event struct{ Message, Address string }
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Message == "ready" {
			r.Base = "http://" + event.Address
			r.logged.Go(func() { _, _ = io.Copy(io.Discard, output) })
			return r
		}
	}

	t.Fatal("the service did not become ready")
	return nil
}

// Query runs a GraphQL operation and returns the response body.
func (r *Process) Query(document string) string {
	r.T.Helper()
	return string(r.Client.Query(document, nil).Body)
}

// End sends a signal and waits for the process to exit. Waiting closes the pipe of the log, so it is read first.
func (r *Process) End(sig syscall.Signal) error {
	if err := r.Cmd.Process.Signal(sig); err != nil {
		return err
	}
	r.logged.Wait()
	return r.Cmd.Wait()
}

// Command runs the binary with some settings, and returns its output and exit code.
func Command(t *testing.T, env []string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, Binary, args...)
	cmd.Env = append([]string{"DATA_DIR=" + t.TempDir(), "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=off"}, env...)

	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// OwnContent returns the path of a content file that is not the sample.
func OwnContent(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.json")
	must(t, os.WriteFile(path, append(cmsfile.Sample(), '\n'), 0o600))
	return path
}
