package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"siteapi/cmd/internal/harness"
)

// roleVariable tells a copy of this program which baseline it serves.
const roleVariable = "SITEAPI_BENCH_ROLE"

// server is a process under load.
type server struct {
	addr string
	stop func()
}

// How a server is started: the command in front of its own.
const (
	plain = ""
	// alone has the first processor for itself.
	alone = "taskset -c 0"
	// slowDisk adds a millisecond to each flush, which is what the disks of most clouds take.
	// That of the machine at hand may take next to nothing.
	slowDisk = "strace -D -f -qq --seccomp-bpf -o /dev/null -e trace=fsync,fdatasync -e inject=fsync,fdatasync:delay_exit=1ms"
)

// startService starts the service on a data folder below dir.
func startService(ctx context.Context, o options, dir string, how string, env ...string) (*server, error) {
	s, err := harness.New(o.binary, dir, append([]string{"ADMIN_ADDR=off", "CONTENT_TYPES=heroSection"}, env...)...)
	if err != nil {
		return nil, err
	}
	if err := s.Run(ctx, strings.Fields(how)...); err != nil {
		return nil, err
	}
	return &server{addr: s.Base[len("http://"):], stop: func() { s.Stop(syscall.SIGTERM) }}, nil
}

// startRole starts a copy of this program as one of the baselines. It prints its address.
func startRole(ctx context.Context, role string, how string, env ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := append(strings.Fields(how), self)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Stderr = append(append(os.Environ(), env...), roleVariable+"="+role), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		stop()
		return nil, fmt.Errorf("the baseline %s did not start", role)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return &server{addr: lines.Text(), stop: stop}, nil
}

// pair measures two servers in turn, after both are warm.
func pair(
	ctx context.Context, o options, baseline, subject *server, onOne bool, next func(conn, n int) []byte,
) (base, value []result, err error) {
	if onOne {
		restore, err := useSecondProcessor()
		if err != nil {
			return nil, nil, err
		}
		defer restore()
	}
	for round := range o.rounds + 1 {
		b, err1 := load(ctx, baseline.addr, o.each, next)
		v, err2 := load(ctx, subject.addr, o.each, next)
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, err
		}
		if round > 0 {
			base, value = append(base, b), append(value, v)
		}
	}
	return base, value, nil
}

// useSecondProcessor keeps this process off the servers' processor until the returned
// function is called.
func useSecondProcessor() (restore func(), err error) {
	if runtime.NumCPU() < 2 {
		return func() {}, nil
	}
	var all, second unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, err
	}
	second.Set(1)
	procs := runtime.GOMAXPROCS(1)
	return func() {
		runtime.GOMAXPROCS(procs)
		_ = setAffinity(&all)
	}, setAffinity(&second)
}

// setAffinity sets the processors of every thread of this process; later ones inherit it.
func setAffinity(set *unix.CPUSet) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range threads {
		var id int
		if _, err := fmt.Sscan(t.Name(), &id); err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, set); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// compareRates compares how many requests two servers answer in a second.
func compareRates(name, goal string, base, value []result) []line {
	perSecond := func(r result) float64 { return r.perSecond }
	return []line{compare(name, "requests/s", goal, each(base, perSecond), each(value, perSecond))}
}

func each(results []result, of func(result) float64) []float64 {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = of(r)
	}
	return values
}
