package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Processors of a measurement: the server has the first, the load the second.
const (
	serverProcessor = 0
	loadProcessor   = 1
)

// roleVariable tells a copy of this program which server it is.
const roleVariable = "SITEAPI_BENCH_ROLE"

// server is a process under load.
type server struct {
	addr string
	cmd  *exec.Cmd
}

// startRole starts a copy of this program as one of the baselines.
func startRole(ctx context.Context, role string, pinned bool, env ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startServer(ctx, pinned, append(env, roleVariable+"="+role), self)
}

// startService starts the service on a fresh data folder.
func startService(ctx context.Context, o options, dir string, pinned bool, env ...string) (*server, error) {
	env = append([]string{
		"ENVIRONMENT=production", "CACHE_API_TOKEN=bench-cache", "CMS_WEBHOOK_SECRET=bench-hook", "RATE_LIMITS=off", "ADMIN_ADDR=off",
		"LISTEN_ADDR=127.0.0.1:0", "DATA_DIR=" + dir,
	}, env...)
	return startServer(ctx, pinned, env, o.binary, "serve")
}

// startServer starts a process and reads from its first lines where it listens.
func startServer(ctx context.Context, pinned bool, env []string, name string, args ...string) (*server, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := startOn(cmd, pinned); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var event struct{ Message, Address string }
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Message == "ready" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return &server{addr: event.Address, cmd: cmd}, nil
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return nil, fmt.Errorf("%s did not get ready", name)
}

// startOn starts a process, on the server's processor alone where it is pinned: a child
// inherits the affinity of the thread that starts it.
func startOn(cmd *exec.Cmd, pinned bool) error {
	if !pinned || runtime.NumCPU() < 2 {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	one.Set(serverProcessor)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }()
	return cmd.Start()
}

// onLoadProcessor keeps this process off the server's processor until the returned
// function is called.
func onLoadProcessor() (func(), error) {
	if runtime.NumCPU() < 2 {
		return func() {}, nil
	}
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, err
	}
	one.Set(loadProcessor)
	if err := eachThread(&one); err != nil {
		return nil, err
	}
	procs := runtime.GOMAXPROCS(1)
	return func() {
		runtime.GOMAXPROCS(procs)
		_ = eachThread(&before)
	}, nil
}

// eachThread sets the affinity of every thread of this process; later ones inherit it.
func eachThread(set *unix.CPUSet) error {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, e := range entries {
		var id int
		if _, err := fmt.Sscan(e.Name(), &id); err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, set); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the process and waits for it.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// announce tells the parent where a role listens.
func announce(addr net.Addr) {
	fmt.Printf("{\"message\":\"ready\",\"address\":%q}\n", addr.String())
}

// serveHandler is what every role does in the end.
func serveHandler(ctx context.Context, h http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	stop := make(chan os.Signal, 1)
	notify(stop)
	go func() { <-stop; _ = s.Close() }()
	announce(listener.Addr())
	if err := s.Serve(listener); !strings.Contains(err.Error(), "closed") {
		return err
	}
	return nil
}
