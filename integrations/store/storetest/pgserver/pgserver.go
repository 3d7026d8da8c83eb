//go:build unix

// Package pgserver runs a private PostgreSQL for tests, on a free port of 127.0.0.1 and
// in its own folder, with fsync on as it is by default. The server can be stopped, killed
// and started again, to test how a program reacts.
//
// It uses the server's binaries in PATH or under /usr/lib/postgresql. If there are none,
// the test is skipped, or fails if SITEAPI_TEST_SERVICES=required.
package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/integrations/freeport"
)

// timeout is how long the server may take to start or to stop.
const timeout = time.Minute

// Server is a running PostgreSQL, or one that has been stopped.
type Server struct {
	bin, dir   string
	port       string
	credential *syscall.Credential // nil: the user of this process
	process    *exec.Cmd           // nil while the server is stopped
	databases  atomic.Int64
}

// ErrNoBinaries means that PostgreSQL is not installed.
var ErrNoBinaries = errors.New(
	"PostgreSQL is not installed: looked for initdb and postgres in PATH and /usr/lib/postgresql",
)

// Start runs a new server with an empty cluster until the end of the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := New()
	if errors.Is(err, ErrNoBinaries) && os.Getenv("SITEAPI_TEST_SERVICES") != "required" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
	s.Start(t)
	return s
}

// New creates a server with an empty cluster, for programs that are not tests.
// [Server.Up] starts it and [Server.Remove] removes it.
func New() (*Server, error) {
	s := &Server{bin: binaries()}
	if s.bin == "" {
		return nil, ErrNoBinaries
	}

	// The folder is not below t.TempDir, which only the test's user may enter, because
	// the server must not run as root.
	var err error
	if s.dir, err = os.MkdirTemp("", "pgserver-"); err != nil {
		return nil, err
	}
	if err := s.initialize(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// initialize creates the cluster, as a user that PostgreSQL accepts: not as root.
func (s *Server) initialize() error {
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return fmt.Errorf("finding the user to run PostgreSQL as: %w", err)
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err, err2, os.Chown(s.dir, int(uid), int(gid))); err != nil {
			return err
		}
		s.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}

	out, err := s.command("initdb", "--pgdata", "data", "--username", "siteapi", "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("creating the cluster: %w\n%s", err, out)
	}

	free, err := freeport.Address()
	_, s.port, _ = strings.Cut(free, ":")
	return err
}

// Remove kills a running server and removes its folder.
func (s *Server) Remove() error {
	var err error
	if s.process != nil {
		err = s.End(syscall.SIGQUIT)
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// URL returns the address of a database on the server, for its superuser.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://siteapi@127.0.0.1:%s/%s?sslmode=disable", s.port, database)
}

// NewDatabase creates an empty database and returns its URL.
func (s *Server) NewDatabase(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	if err := s.exec("CREATE DATABASE " + name); err != nil {
		t.Fatalf("creating a database: %v", err)
	}
	return s.URL(name)
}

// Start starts a stopped server on its previous port and waits until it answers.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
}

// Up is Start for programs that are not tests.
func (s *Server) Up() error {
	var log bytes.Buffer
	s.process = s.command("postgres", "-D", "data", "-p", s.port,
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "max_connections=200", "-c", "shared_buffers=32MB")
	s.process.Stdout, s.process.Stderr = &log, &log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return fmt.Errorf("starting PostgreSQL: %w", err)
	}

	err := s.exec("SELECT 1")
	for deadline := time.Now().Add(timeout); err != nil && time.Now().Before(deadline); err = s.exec("SELECT 1") {
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("PostgreSQL does not answer: %w\n%s", errors.Join(err, s.End(syscall.SIGQUIT)), log.String())
	}
	return nil
}

// Stop shuts the server down and closes its connections.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.End(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
}

// End stops the server with a signal, for programs that are not tests: SIGINT shuts it
// down, and SIGQUIT ends it at once, without writing anything back, as a crash would.
func (s *Server) End(signal syscall.Signal) error {
	if err := s.process.Process.Signal(signal); err != nil {
		return fmt.Errorf("stopping PostgreSQL: %w", err)
	}

	late := time.AfterFunc(timeout, func() { _ = s.process.Process.Kill() })
	defer late.Stop()
	_ = s.process.Wait() // it may report the signal
	s.process = nil
	return nil
}

// command prepares a program of PostgreSQL that runs in the server's folder.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential}
	return cmd
}

func (s *Server) exec(query string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, query)
	return errors.Join(err, conn.Close(ctx))
}

// binaries returns the folder of initdb and postgres: the one in PATH, or else the last
// one under /usr/lib/postgresql. It is empty if there is none.
func binaries() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}
