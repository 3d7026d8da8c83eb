package main

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
	"sync"
	"syscall"
	"time"
)

// service is the binary on one data folder and one address, however often it is killed
// and started again. Its log goes to a file beside the data.
type service struct {
	binary string
	dir    string
	base   string // address of its public door
	env    []string

	launch func(*exec.Cmd) error // starts the process

	mu   sync.Mutex
	cmd  *exec.Cmd
	log  *os.File
	done chan struct{} // closed when the process has ended
}

// newService prepares a service in a folder. Settings are its environment beside the
// address, the folder and what makes a start possible.
func newService(ctx context.Context, binary, dir string, settings ...string) (*service, error) {
	path, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("the service is not built: run `make build` first: %w", err)
	}
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	return &service{
		binary: path, dir: dir, base: "http://" + addr, launch: (*exec.Cmd).Start,
		env: append([]string{
			"LISTEN_ADDR=" + addr, "ADMIN_ADDR=off", "DATA_DIR=" + filepath.Join(dir, "data"), "RATE_LIMITS=off",
			"CACHE_API_TOKEN=chaos-cache", "CMS_WEBHOOK_SECRET=chaos-webhook",
		}, settings...),
	}, nil
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// start starts the process without waiting until it answers.
func (s *service) start() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "siteapi.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// Not bound to a context: it ends by our signal and no other way.
	cmd := exec.Command(s.binary, "serve") //nolint:noctx // see above
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, log, log
	dieWithUs(cmd)
	if err := s.launch(cmd); err != nil {
		return errors.Join(fmt.Errorf("starting the service: %w", err), log.Close())
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended does not matter: most were killed
		_ = log.Close()
		close(done)
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cmd, s.log, s.done = cmd, log, done
	return nil
}

// ready waits until the service answers.
func (s *service) ready(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/healthz", nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.done:
			return fmt.Errorf("the service ended by itself: see %s", filepath.Join(s.dir, "siteapi.log"))
		case <-ctx.Done():
			return fmt.Errorf("the service did not answer within %v: %w", patience, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// end sends a signal and waits until the process is gone.
func (s *service) end(sig syscall.Signal) error {
	s.mu.Lock()
	cmd, done := s.cmd, s.done
	s.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending the service: %w", err)
	}
	<-done
	return nil
}

// pid returns the id of the running process.
func (s *service) pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Pid
}

// command runs another command of the binary beside the running service and returns
// what it printed and its exit code.
func (s *service) command(ctx context.Context, args ...string) (out []byte, code int, err error) {
	var text, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, &text, &complaint
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if exit.ExitCode() == 1 {
			return nil, 1, fmt.Errorf("siteapi %v: %s", args, complaint.String())
		}
		return text.Bytes(), exit.ExitCode(), nil
	}
	return text.Bytes(), 0, err
}
