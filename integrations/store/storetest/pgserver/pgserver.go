//go:build unix

// Package pgserver runs a private PostgreSQL for tests, on a free port of 127.0.0.1
// and in a folder of its own, with fsync as it is by default. It can be stopped,
// killed and started again, to see what a program makes of that.
//
// The server's binaries are looked for in PATH and under /usr/lib/postgresql. Where
// there are none the test is skipped, or fails if SITEAPI_TEST_SERVICES=required.
package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// admin is the server's superuser, who needs no password.
const admin = "siteapi"

// patience is how long the server may take to start or to stop.
const patience = 30 * time.Second

// Server is a running PostgreSQL, or one that has been stopped.
type Server struct {
	bin, dir   string
	port       int
	credential *syscall.Credential // nil: as ourselves
	process    *exec.Cmd           // nil while it is stopped
	log        *bytes.Buffer
	databases  atomic.Int64
}

// Start runs a new server with an empty cluster until the end of the test.
func Start(t testing.TB) *Server {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		if os.Getenv("SITEAPI_TEST_SERVICES") == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s := &Server{bin: bin}
	if s.credential, err = credential(); err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: only we may enter that, and the server may not run as root.
	if s.dir, err = os.MkdirTemp("", "pgserver-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.process != nil {
			s.Kill(t)
		}
		if err := os.RemoveAll(s.dir); err != nil {
			t.Error(err)
		}
	})
	if s.credential != nil {
		if err := os.Chown(s.dir, int(s.credential.Uid), int(s.credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	initdb := s.command("initdb", "--pgdata", s.data(), "--username", admin, "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("making a cluster: %v\n%s", err, out)
	}
	if s.port, err = freePort(); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
	return s
}

// URL is the address of a database on the server.
func (s *Server) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User(admin), Path: "/" + database, RawQuery: "sslmode=disable",
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)),
	}
	return u.String()
}

// NewDatabase creates an empty database and returns its URL.
func (s *Server) NewDatabase(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	if err := s.exec(context.Background(), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("creating a database: %v", err)
	}
	return s.URL(name)
}

// Start starts a stopped server on its old port and waits until it answers.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.log = new(bytes.Buffer)
	s.process = s.command("postgres", "-D", s.data(), "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "max_connections=200", "-c", "shared_buffers=32MB")
	s.process.Stdout, s.process.Stderr = s.log, s.log
	if err := s.process.Start(); err != nil {
		t.Fatalf("starting PostgreSQL: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := s.exec(ctx, "SELECT 1")
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			s.Kill(t)
			t.Fatalf("PostgreSQL does not answer: %v\n%s", err, s.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop shuts the server down; connections are cut off.
func (s *Server) Stop(t testing.TB) { t.Helper(); s.end(t, syscall.SIGINT) }

// Kill ends the server at once, without writing anything back, as a crash would.
func (s *Server) Kill(t testing.TB) { t.Helper(); s.end(t, syscall.SIGQUIT) }

func (s *Server) end(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if s.process == nil {
		t.Fatal("PostgreSQL is not running")
	}
	if err := s.process.Process.Signal(signal); err != nil {
		t.Fatalf("stopping PostgreSQL: %v", err)
	}
	late := time.AfterFunc(patience, func() { _ = s.process.Process.Kill() })
	defer late.Stop()
	var exit *exec.ExitError
	if err := s.process.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("waiting for PostgreSQL to end: %v", err)
	}
	s.process = nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential}
	return cmd
}

func (s *Server) exec(ctx context.Context, query string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, query)
	return errors.Join(err, conn.Close(ctx))
}

// binaries finds the folder that holds both initdb and postgres.
func binaries() (string, error) {
	var folders []string
	if path, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.Reverse(installed) // the newest first
	for _, dir := range append(folders, installed...) {
		_, first := os.Stat(filepath.Join(dir, "initdb"))
		_, second := os.Stat(filepath.Join(dir, "postgres"))
		if first == nil && second == nil {
			return dir, nil
		}
	}
	return "", errors.New("PostgreSQL is not installed: looked for initdb and postgres in PATH and /usr/lib/postgresql")
}

// credential is the user to run the server as: PostgreSQL refuses to run as root.
func credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // no credential is one
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("finding the user to run PostgreSQL as: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("reading the id of user postgres: %w", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("reading the group of user postgres: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
