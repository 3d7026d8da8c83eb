package apptest

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"siteapi/integrations/freeport"
)

// DialAndSend opens a connection and sends text on it.
func DialAndSend(t *testing.T, r *Process, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.Base, "http://"))
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })

	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	_, err = io.WriteString(c, text)
	must(t, err)
	return c
}

// FreeAddress returns an address with a free port.
func FreeAddress(t *testing.T) string {
	t.Helper()
	address, err := freeport.Address()
	must(t, err)
	return address
}

// Serve runs another server until the end of the test, with additional environment
// variables, and waits until it listens at an address. Without the program, the test is
// skipped.
func Serve(t *testing.T, address string, env []string, program string, args ...string) {
	t.Helper()
	_, err := exec.LookPath(program)
	SkipWithout(t, err)

	var out SyncBuffer
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})

	Eventually(t, program+" listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}
