// Package harness runs the service as a process for bench, chaos and demo.
package harness

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"siteapi/integrations/freeport"
	"siteapi/schema"

	cmsfile "siteapi/integrations/cms/file"
)

// CacheToken and WebhookToken are the tokens of every [Service].
const (
	CacheToken   = "tool-cache-token"
	WebhookToken = "tool-webhook-token"
)

// Service is the binary with a data folder and an address, which stay the same when it is
// restarted. Its log is Dir/siteapi.log.
type Service struct {
	Base, Admin string          // URLs of the public and the admin listener, http://127.0.0.1:<port>
	Dir         string          // contains the folder "data" and the log
	Content     string          // content file of the CMS
	Ended       <-chan struct{} // closed when the process has ended
	Output      *os.File        // of the process; nil: the log

	binary string
	env    []string
	cmd    *exec.Cmd
}

// New prepares a production service in a folder, with additional settings.
func New(binary, dir string, env ...string) *Service {
	path := Must(filepath.Abs(binary))
	if _, err := os.Stat(path); err != nil {
		Failf("the service is not built, run `make build` first: %w", err)
	}

	Check(os.MkdirAll(filepath.Join(dir, "data"), 0o750))
	addr, admin := Must(freeport.Address()), Must(freeport.Address())

	// Production refuses the unchanged sample content.
	content := filepath.Join(dir, "own-content.json")
	Check(os.WriteFile(content, append(cmsfile.Sample(), '\n'), 0o600))

	return &Service{
		binary:  path,
		Dir:     dir,
		Content: content,
		Base:    "http://" + addr,
		Admin:   "http://" + admin,
		env: append([]string{
			"LISTEN_ADDR=" + addr,
			"ADMIN_ADDR=" + admin,
			"DATA_DIR=" + filepath.Join(dir, "data"),
			"CACHE_API_TOKEN=" + CacheToken,
			"CMS_WEBHOOK_SECRET=" + WebhookToken,
			"CMS_DRIVER=file",
			"CMS_FILE=" + content,
			"RATE_LIMITS=off",
		}, env...),
	}
}

// Start starts the process without waiting for it.
func (s *Service) Start() {
	log := Must(os.OpenFile(
		filepath.Join(s.Dir, "siteapi.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))

	cmd := exec.Command(s.binary, "serve") //nolint:noctx // Stop ends it
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), s.env...), cmp.Or(s.Output, log), log
	Check(errors.Join(cmd.Start(), log.Close()))

	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	s.cmd, s.Ended = cmd, ended
}

// Ready waits until the service responds, for at most a minute.
func (s *Service) Ready(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	for {
		if status, _, err := Do(ctx, http.MethodGet, s.Base+"/healthz", "", ""); err == nil &&
			status == http.StatusOK {
			return
		}

		select {
		case <-s.Ended:
			Failf("the service exited: see %s", filepath.Join(s.Dir, "siteapi.log"))
		case <-ctx.Done():
			Failf("waiting for the service: %w", ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Run starts the service and waits until it responds. If it does not, it is stopped.
func (s *Service) Run(ctx context.Context) {
	s.Start()
	if err := Run(func() { s.Ready(ctx) }); err != nil {
		s.Stop(syscall.SIGKILL)
		Check(err)
	}
}

// Locale returns one of the languages of the service, all of them in turn.
func Locale(n int) string {
	all := schema.Locales()
	return string(all[n%len(all)])
}

// Stop sends a signal and waits until the process has ended. It may be called twice, and
// before the start.
func (s *Service) Stop(signal syscall.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(signal) // fails if the process has ended
	<-s.Ended
}

// Do sends a request with an optional token and JSON body, and returns the status and
// body of the response. header lists names and values of further headers.
func Do(ctx context.Context, method, url, token, body string, header ...string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header = Header(token)
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}

	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()

	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, data, err
}

// Header returns the headers of a JSON request with an optional token.
func Header(token string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return h
}

var client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// Command runs a command of the binary with the settings of the service and returns its
// output. The exit code 2, which reports a finding, is not an error.
func (s *Service) Command(ctx context.Context, args ...string) []byte {
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), s.env...), os.Stderr

	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 2 {
		Failf("siteapi %s: %w", strings.Join(args, " "), err)
	}
	return out
}

// Pid returns the process id.
func (s *Service) Pid() int { return s.cmd.Process.Pid }

// Memory returns the resident memory of the process and its maximum, in MiB.
func (s *Service) Memory() (now, most float64) {
	status := Must(Must(procfs.NewProc(s.Pid())).NewStatus())
	return float64(status.VmRSS) / (1 << 20), float64(status.VmHWM) / (1 << 20)
}
