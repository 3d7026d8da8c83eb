// Package harness runs the service as a process for the tools that measure it, break it
// and show it.
package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Tokens of the services that New makes.
const (
	CacheToken   = "tool-cache-token"
	WebhookToken = "tool-webhook-token"
)

// Service is the binary on one data folder and one address, however often it is stopped
// and started. Its log is siteapi.log beside the data.
type Service struct {
	Base  string // http://127.0.0.1:<port>
	Admin string // of the metrics
	Dir   string // with the folder "data" and the log

	binary string
	env    []string
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process has ended
}

// New prepares a production service in a folder. Env is added to what a start needs.
func New(binary, dir string, env ...string) (*Service, error) {
	path, err := filepath.Abs(binary)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the service is not built, run `make build` first: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o750); err != nil {
		return nil, err
	}
	addr, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	admin, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	return &Service{
		binary: path, Dir: dir, Base: "http://" + addr, Admin: "http://" + admin,
		env: append([]string{
			"LISTEN_ADDR=" + addr, "ADMIN_ADDR=" + admin, "DATA_DIR=" + filepath.Join(dir, "data"),
			"CACHE_API_TOKEN=" + CacheToken, "CMS_WEBHOOK_SECRET=" + WebhookToken, "RATE_LIMITS=off",
		}, env...),
	}, nil
}

// FreeAddress returns an address on the loopback interface that nothing listens on.
func FreeAddress() (string, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Start starts the process without waiting for it. Prefix is a command to start it with.
func (s *Service) Start(prefix ...string) error {
	log, err := os.OpenFile(filepath.Join(s.Dir, "siteapi.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	args := append(prefix, s.binary, "serve")
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // it ends by Stop and no other way
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), s.env...), log, log
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("starting the service: %w", err), log.Close())
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		_ = log.Close()
		close(ended)
	}()
	s.cmd, s.ended = cmd, ended
	return nil
}

// Ready waits until the service answers, a minute at most.
func (s *Service) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if status, _, err := Do(ctx, http.MethodGet, s.Base+"/healthz", ""); err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the service ended by itself: see %s", filepath.Join(s.Dir, "siteapi.log"))
		case <-ctx.Done():
			return fmt.Errorf("waiting for the service: %w", ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Run starts the service and waits until it answers.
func (s *Service) Run(ctx context.Context, prefix ...string) error {
	if err := s.Start(prefix...); err != nil {
		return err
	}
	return s.Ready(ctx)
}

// Stop sends a signal and waits until the process is gone. Stopping twice is no error.
func (s *Service) Stop(signal syscall.Signal) {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(signal) // one that has ended needs none
		<-s.ended
	}
}

// Ended is closed when the process has ended.
func (s *Service) Ended() <-chan struct{} { return s.ended }

// PID is the number of the process.
func (s *Service) PID() int { return s.cmd.Process.Pid }

// Command runs another command of the binary beside the service and returns its output.
// Exit code 2 (done, and something is amiss) is no error.
func (s *Service) Command(ctx context.Context, args ...string) ([]byte, error) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), s.env...), &out, &errOut
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 2 {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("siteapi %s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	return out.Bytes(), nil
}

// Memory returns a line of the process's status, such as VmRSS or VmHWM, in MiB.
func (s *Service) Memory(line string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		return 0, err
	}
	for text := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(text, line+":"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("the system does not tell %s of process %d", line, s.PID())
}
