package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// movedClock lets one process see another wall clock than the rest of the machine. A
// library that is loaded before others does nothing to a static binary, and a time
// namespace leaves the wall clock alone. So the kernel asks us instead of its clock
// (seccomp's user notification), whenever the process makes the system call; and as Go
// reads the clock without one, from the page that the kernel maps into each process,
// that page's function is replaced by the system call.
type movedClock struct {
	offset atomic.Int64 // nanoseconds
	ours   *os.File     // receives the listener of the next process
	theirs *os.File
	group  sync.WaitGroup
}

// clockVariable tells a copy of this program to become the program named, under a
// clock that we answer for.
const clockVariable = "SITEAPI_CHAOS_CLOCK"

func newMovedClock() (*movedClock, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &movedClock{ours: os.NewFile(uintptr(pair[0]), "ours"), theirs: os.NewFile(uintptr(pair[1]), "theirs")}, nil
}

func (m *movedClock) set(offset time.Duration) { m.offset.Store(int64(offset)) }

func (m *movedClock) close() {
	_ = m.theirs.Close()
	_ = m.ours.Close()
	m.group.Wait()
}

// launch starts a process under this clock.
func (m *movedClock) launch(cmd *exec.Cmd) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, clockVariable+"="+cmd.Path)
	cmd.Path, cmd.ExtraFiles = self, []*os.File{m.theirs}
	if err := cmd.Start(); err != nil {
		return err
	}
	listener, err := receiveFile(m.ours)
	if err != nil {
		return errors.Join(fmt.Errorf("taking the clock over: %w", err), cmd.Process.Kill())
	}
	m.group.Go(func() {
		defer func() { _ = unix.Close(listener) }()
		m.answer(listener)
	})
	return nil
}

// underClock makes this process a program under the clock of the one that started it,
// if it was started for that. It returns only if it was not, or could not.
func underClock(context.Context) error {
	program := os.Getenv(clockVariable)
	if program == "" {
		return errOutside
	}
	if err := os.Unsetenv(clockVariable); err != nil {
		return err
	}
	// The filter is of this thread alone, and so is what it becomes.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up privileges: %w", err)
	}
	// if (nr == clock_gettime && clock == CLOCK_REALTIME) ask; else allow.
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLOCK_GETTIME, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.CLOCK_REALTIME, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program2 := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program2)))
	if errno != 0 {
		return fmt.Errorf("having the clock asked of us: %w", errno)
	}
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		return fmt.Errorf("handing the clock over: %w", err)
	}
	unix.CloseOnExec(3)
	unix.CloseOnExec(int(listener))
	return syscall.Exec(program, append([]string{program}, os.Args[1:]...), os.Environ())
}

// receiveFile takes a file that was sent over a socket.
func receiveFile(socket *os.File) (int, error) {
	conn, err := net.FileConn(socket)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return 0, err
	}
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) == 0 {
		return 0, errors.Join(errors.New("no file came along"), err)
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(files) == 0 {
		return 0, errors.Join(errors.New("no file came along"), err)
	}
	return files[0], nil
}

// Layouts and requests of linux/seccomp.h.
type (
	question struct {
		id       uint64
		pid      uint32
		_        uint32
		nr       int32
		_        uint32
		_        uint64
		argument [6]uint64
	}
	reply struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}
)

const (
	receiveQuestion = 0xc0502100
	sendReply       = 0xc0182101
)

// answer tells the process the time until it ends.
func (m *movedClock) answer(listener int) {
	var memory *os.File // of the process; its image is there for good once it asks
	defer func() { _ = memory.Close() }()
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, 1000); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if ready[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
			return
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			continue
		}
		var q question
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), receiveQuestion, uintptr(unsafe.Pointer(&q))); errno != 0 {
			continue // whoever asked was interrupted
		}
		if memory == nil {
			memory, _ = os.OpenFile(fmt.Sprintf("/proc/%d/mem", q.pid), os.O_RDWR, 0)
		}
		r := reply{id: q.id}
		now := time.Now().Add(time.Duration(m.offset.Load()))
		told := binary.LittleEndian.AppendUint64(nil, uint64(now.Unix()))
		told = binary.LittleEndian.AppendUint64(told, uint64(now.Nanosecond()))
		if _, err := memory.WriteAt(told, int64(q.argument[1])); err != nil {
			r.errno = -int32(unix.EFAULT)
		}
		// Where it was interrupted meanwhile, it asks again.
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), sendReply, uintptr(unsafe.Pointer(&r)))
	}
}

// systemCall is `mov $228, %eax; syscall; ret`: clock_gettime.
var systemCall = []byte{0xb8, unix.SYS_CLOCK_GETTIME, 0, 0, 0, 0x0f, 0x05, 0xc3}

// takeOver replaces the function that reads the clock without a system call, at a
// moment at which no thread is in it.
func (m *movedClock) takeOver(pid int) error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return fmt.Errorf("finding the page of the clock: %w", err)
	}
	var low, high int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			if _, err := fmt.Sscanf(line, "%x-%x", &low, &high); err != nil {
				return fmt.Errorf("finding the page of the clock: %w", err)
			}
		}
	}
	if low == 0 {
		return errors.New("finding the page of the clock: there is none")
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening the page of the clock: %w", err)
	}
	defer func() { _ = memory.Close() }()
	page := make([]byte, high-low)
	if _, err := memory.ReadAt(page, low); err != nil {
		return fmt.Errorf("reading the page of the clock: %w", err)
	}
	image, err := elf.NewFile(bytes.NewReader(page))
	if err != nil {
		return fmt.Errorf("reading the page of the clock: %w", err)
	}
	symbols, err := image.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("reading the page of the clock: %w", err)
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return patch(pid, memory, low, high, low+int64(s.Value))
		}
	}
	return errors.New("the page of the clock has no function to read it")
}

// patch writes the system call over a function.
func patch(pid int, memory *os.File, low, high, at int64) (err error) {
	for range 100 {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			return err
		}
		busy, err := anyThreadIn(pid, low, high)
		if err == nil && !busy {
			_, err = memory.WriteAt(systemCall, at)
		}
		if err := errors.Join(err, unix.Kill(pid, unix.SIGCONT)); err != nil || !busy {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("the process never leaves the page of the clock")
}

// anyThreadIn tells whether a thread of a stopped process stands between two addresses.
func anyThreadIn(pid int, low, high int64) (bool, error) {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/syscall")
		if err != nil {
			return false, err
		}
		running := false
		for _, path := range threads {
			data, err := os.ReadFile(path)
			if err != nil {
				continue // the thread is gone
			}
			// The number of a system call or -1, its arguments if it is one, sp and pc.
			fields := strings.Fields(string(data))
			if running = fields[0] == "running"; running {
				break
			}
			pc, err := strconv.ParseUint(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
			if err != nil {
				return false, err
			}
			if pc >= uint64(low) && pc < uint64(high) {
				return true, nil
			}
		}
		if !running {
			return false, nil
		}
	}
	return false, errors.New("the process does not stop")
}
