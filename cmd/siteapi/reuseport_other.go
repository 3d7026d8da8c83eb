//go:build !linux

package main

import (
	"errors"
	"net"
	"syscall"
)

// reusePort refuses: elsewhere than on Linux the option means something else.
func reusePort(string, string, syscall.RawConn) error {
	return errors.New("LISTEN_REUSEPORT needs Linux")
}

func joinPort(net.Listener) error { return nil }

func leavePort(net.Listener) error { return nil }
