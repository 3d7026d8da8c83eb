package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is the service under the demo.
type process struct {
	base string
	cmd  *exec.Cmd
	log  *os.File
}

// startService starts the binary on a free port and waits until it is ready. Its log
// goes to a file beside the data.
func startService(ctx context.Context, binary, dir string, settings []string) (*process, error) {
	probe, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := probe.Addr().String()
	if err := probe.Close(); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "siteapi.log"))
	if err != nil {
		return nil, err
	}
	p := &process{base: "http://" + addr, cmd: exec.CommandContext(ctx, binary), log: log}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(os.Environ(), "ENVIRONMENT=development", "LOG_FORMAT=json", "RATE_LIMITS=off", "ADMIN_ADDR=off",
		"LISTEN_ADDR="+addr, "DATA_DIR="+filepath.Join(dir, "data"))
	p.cmd.Env = append(p.cmd.Env, settings...)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s (build it with make build): %w", binary, err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if ready(ctx, p.base) {
			return p, nil
		}
		if time.Now().After(deadline) {
			_ = p.stop()
			return nil, fmt.Errorf("the service was not ready within %s: see %s", patience, log.Name())
		}
	}
}

func ready(ctx context.Context, base string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// command runs another command of the binary with the settings of the service.
func (p *process) command(ctx context.Context, out io.Writer, args ...string) error {
	_, _ = fmt.Fprintf(out, "\n== siteapi %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, p.cmd.Path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.cmd.Env, out, out
	return cmd.Run()
}

// stop asks the service to finish and waits for it.
func (p *process) stop() error {
	defer func() { _ = p.log.Close() }()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.cmd.Wait()
}
