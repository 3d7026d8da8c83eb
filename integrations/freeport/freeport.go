// Package freeport finds addresses for servers of tests and tools.
package freeport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

// The ports are below those that systems give to outgoing connections and to listeners without
// a port: one of these could take an address until its server listens.
const (
	first  = 20_000
	number = 12_000
)

// Address returns an address of this machine, at which nothing listens.
func Address() (string, error) {
	for {
		address := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(number)) //nolint:gosec // not a secret
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
		if err == nil {
			return address, l.Close()
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return "", fmt.Errorf("finding a free port: %w", err)
		}
	}
}
