//go:build !linux

package httpserver

import (
	"errors"
	"net"
	"syscall"
)

// setReusePort refuses: elsewhere than on Linux the option means something else.
func setReusePort(string, string, syscall.RawConn) error {
	return errors.New("LISTEN_REUSEPORT needs Linux")
}

func joinPort(net.Listener) error { return nil }

func leavePort(net.Listener) error { return nil }
