package httpserver

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// setReusePort lets two processes of one user listen on one address. The system gives each
// new connection to one of them.
func setReusePort(_, _ string, c syscall.RawConn) error {
	return setOption(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
}

// joinPort undoes what a predecessor's leavePort has left behind, so that connections
// go to it until it leaves as well. A system before Linux 5.3 does not know how: there
// the newcomer gets all of them at once.
func joinPort(l net.Listener) error {
	err := control(l, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_REUSEPORT_BPF, 0)
	})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOPROTOOPT) { // nothing was left behind, or it can't be undone
		return nil
	}
	return err
}

// leavePort has the system give all new connections to the process that listens on the
// same address since, if there is one. Without it, connections that the system has given
// to this process and that were not accepted yet would be reset when its socket closes.
//
// The program returns the place of a socket in the order in which they were opened: 1 is
// the newcomer's. Where there is none the system goes on as before.
func leavePort(l net.Listener) error {
	newcomer := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 1}}
	return control(l, func(fd int) error {
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF,
			&unix.SockFprog{Len: uint16(len(newcomer)), Filter: &newcomer[0]})
	})
}

// control calls f with the descriptor of a TCP listener.
func control(l net.Listener, f func(fd int) error) error {
	c, ok := l.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return setOption(raw, f)
}

func setOption(c syscall.RawConn, f func(fd int) error) error {
	var failed error
	if err := c.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}
