package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// valkeyRead compares a cached read with the content in a shared Valkey with one from
// memory. It is left out where no server is installed.
func valkeyRead(ctx context.Context, o options) ([]line, error) {
	name := ""
	for _, n := range []string{"valkey-server", "redis-server"} {
		if _, err := exec.LookPath(n); err == nil {
			name = n
			break
		}
	}
	if name == "" {
		fmt.Fprintln(os.Stderr, "# valkey-read-vs-memory is left out: neither valkey-server nor redis-server is installed")
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "siteapi-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	socket := dir + "/valkey.sock"
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	valkey := exec.CommandContext(ctx, name, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", dir, "--unixsocket", socket)
	if err := valkey.Start(); err != nil {
		return nil, err
	}
	defer func() { _ = valkey.Process.Kill(); _ = valkey.Wait() }()
	time.Sleep(300 * time.Millisecond)
	memory, err := startService(ctx, o, dir+"/memory", true)
	if err != nil {
		return nil, err
	}
	defer memory.stop()
	shared, err := startService(ctx, o, dir+"/shared", true, "CACHE_URL=valkey://127.0.0.1:"+port)
	if err != nil {
		return nil, err
	}
	defer shared.stop()
	base, value, err := pair(ctx, o, memory, shared, true, same(settingsRequest()))
	if err != nil {
		return nil, err
	}
	return compareRates("valkey-read-vs-memory", "≥ 0.90", base, value), nil
}

// residentMemory measures what the service holds after a minute of mixed load at full speed.
func residentMemory(ctx context.Context, o options) ([]line, error) {
	dir, err := os.MkdirTemp("", "siteapi-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	service, err := startService(ctx, o, dir, false)
	if err != nil {
		return nil, err
	}
	defer service.stop()
	idle, err := resident(service.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	read := settingsRequest()
	next := func(conn, n int) []byte {
		if n%2 == 0 {
			return read
		}
		return trackRequest("bench-" + strconv.Itoa(conn*1000+n%1000))
	}
	// A full run loads for a minute, as the goal says; a shorter one in proportion.
	length := time.Duration(o.rounds) * o.each * 60 / 9
	if _, err := load(ctx, service.addr, length, next); err != nil {
		return nil, err
	}
	loaded, err := resident(service.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	return []line{{name: "memory-loaded-vs-idle", ratio: loaded / idle, baseline: idle, value: loaded, unit: "MiB", goal: "value < 64 MiB"}}, nil
}

// resident returns the resident memory of a process in MiB.
func resident(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("the system does not tell the memory of process %d", pid)
}

func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
