// Package valkeyserver runs private Valkey or Redis servers for tests and benchmarks.
// Each has its own folder and a free port on 127.0.0.1.
package valkeyserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/freeport"
)

// ErrNoBinary means that neither valkey-server nor redis-server is installed.
var ErrNoBinary = errors.New("neither valkey-server nor redis-server is installed")

// startTimeout bounds the time from the start of a server to its first reply.
const startTimeout = time.Minute

// Server is one server process. Its port does not change when it is restarted.
type Server struct {
	binary, dir string
	port        string
	args        []string
	cmd         *exec.Cmd // nil while it is stopped
}

// Start runs a server for the duration of a test, with args added to its command line. If
// no binary is installed, the test is skipped, or fails if SITEAPI_TEST_SERVICES is
// "required".
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s, err := New(t.TempDir(), args...)
	if errors.Is(err, ErrNoBinary) && os.Getenv("SITEAPI_TEST_SERVICES") != "required" {
		t.Skip(err)
	}

	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Stop)
	return s
}

// New prepares a server with its files in dir, without starting it.
func New(dir string, args ...string) (*Server, error) {
	binary, err := exec.LookPath("valkey-server")
	if err != nil {
		if binary, err = exec.LookPath("redis-server"); err != nil {
			return nil, ErrNoBinary
		}
	}

	address, err := freeport.Address()
	_, port, _ := strings.Cut(address, ":")
	return &Server{binary: binary, dir: dir, port: port, args: args}, err
}

// Addr returns the host and port.
func (s *Server) Addr() string { return "127.0.0.1:" + s.port }

// URL returns the address in the form of CACHE_URL.
func (s *Server) URL() string { return "valkey://" + s.Addr() }

// Start starts the server, unless it is running, and waits until it replies. The server
// restores its data from disk, but saves data only if args enable it.
func (s *Server) Start() error {
	if s.cmd != nil {
		return nil
	}
	logFile := filepath.Join(s.dir, "server.log")
	cmd := exec.CommandContext(context.Background(), s.binary, append([]string{
		"--port", s.port, "--bind", "127.0.0.1",
		"--dir", s.dir, "--logfile", logFile,
		"--save", "", "--appendonly", "no",
	}, s.args...)...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", s.binary, err)
	}
	s.cmd = cmd

	for end := time.Now().Add(startTimeout); ; time.Sleep(5 * time.Millisecond) {
		_, err := s.Do("PING")
		if reply, answered := valkey.IsValkeyErr(err); err == nil ||
			answered && !strings.HasPrefix(reply.Error(), "LOADING") {
			return nil
		}

		if time.Now().After(end) {
			s.Stop()
			log, _ := os.ReadFile(logFile)
			return fmt.Errorf("starting %s: no reply within %v: %w\n%s", s.binary, startTimeout, err, log)
		}
	}
}

// Do sends one command over a new connection.
func (s *Server) Do(args ...string) (any, error) {
	client, err := valkey.NewClient(valkey.ClientOption{
		InitAddress:       []string{s.Addr()},
		ForceSingleClient: true,
		DisableCache:      true,
		DisableRetry:      true,
		ConnWriteTimeout:  startTimeout,
	})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Do(context.Background(), client.B().Arbitrary(args...).Build()).ToAny()
}

// Stop kills the server, as in a crash, and waits for its process.
func (s *Server) Stop() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Pause freezes the process. Its connections stay open, but it does not reply.
func (s *Server) Pause(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Resume continues a paused process.
func (s *Server) Resume(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("sending %v: %v", sig, err)
	}
}
