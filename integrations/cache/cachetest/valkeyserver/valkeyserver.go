// Package valkeyserver runs private Valkey or Redis servers for tests and
// benchmarks: on a free port of 127.0.0.1, with a folder of their own, ended by the
// process id they were started with.
package valkeyserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ErrNoBinary means that neither valkey-server nor redis-server is installed.
var ErrNoBinary = errors.New("neither valkey-server nor redis-server is installed")

// startTimeout is how long a server may take until it answers.
const startTimeout = 10 * time.Second

// Server is one server process. Its port stays the same over stops and starts.
type Server struct {
	binary string
	dir    string
	port   int
	first  []string // arguments that have to come first
	args   []string

	mu  sync.Mutex
	cmd *exec.Cmd // nil while it is stopped
	log bytes.Buffer
}

// Start runs a server for the length of a test. args are added to its command line,
// as in "--maxmemory", "10mb". Where no binary is installed the test is skipped, or
// fails if the environment variable SITEAPI_TEST_SERVICES is "required".
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

// New prepares a server that keeps its files in dir. It is not started yet.
func New(dir string, args ...string) (*Server, error) {
	binary, err := exec.LookPath("valkey-server")
	if err != nil {
		if binary, err = exec.LookPath("redis-server"); err != nil {
			return nil, ErrNoBinary
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return &Server{binary: binary, dir: dir, port: port, args: args}, nil
}

// freePort returns a port that nobody listened on a moment ago. The cluster's bus
// listens 10000 above it, so it is one of the lower half.
func freePort() (int, error) {
	for {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("looking for a free port: %w", err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("looking for a free port: %w", err)
		}
		if port <= 55535 {
			return port, nil
		}
	}
}

// Addr returns host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Port returns the port.
func (s *Server) Port() int { return s.port }

// URL returns the address as a setting of the service wants it.
func (s *Server) URL() string { return "valkey://" + s.Addr() }

// Start starts a stopped server and waits until it answers. Data comes back as far
// as the server was told to keep them: by default not at all.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		return nil
	}
	args := append(append([]string{}, s.first...), []string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--logfile", filepath.Join(s.dir, "server.log"),
	}...)
	if s.first == nil {
		args = append(args, "--save", "", "--appendonly", "no")
	}
	args = append(args, s.args...)
	cmd := exec.CommandContext(context.Background(), s.binary, args...)
	dieWithUs(cmd)
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", s.binary, err)
	}
	s.cmd = cmd
	if err := s.awaitAnswer(); err != nil {
		s.stop()
		log, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
		return fmt.Errorf("starting %s: %w\n%s%s", s.binary, err, s.log.String(), log)
	}
	return nil
}

// awaitAnswer waits until the server answers and has its data. That it wants a
// password is an answer.
func (s *Server) awaitAnswer() error {
	for end := time.Now().Add(startTimeout); ; time.Sleep(5 * time.Millisecond) {
		reply, err := s.Do("PING")
		if err == nil && !strings.HasPrefix(reply, "-LOADING") {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("no answer within %v: %s%w", startTimeout, reply, err)
		}
	}
}

// Stop ends the server at once, as a crash would. Data that was not saved is lost.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

// stop ends the process by its own id and waits for it. The caller holds the lock.
func (s *Server) stop() {
	if s.cmd == nil {
		return
	}
	// A server that isn't there any more is as good as killed.
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Pause freezes the process: connections stay open, nothing answers.
func (s *Server) Pause(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (s *Server) Resume(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		t.Fatalf("sending %v: the server is stopped", sig)
	}
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("sending %v: %v", sig, err)
	}
}
