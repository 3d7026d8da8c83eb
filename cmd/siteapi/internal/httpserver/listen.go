package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
)

// Listen opens the service's listener: the socket that systemd has opened where there is
// one, else the address. A socket of systemd's outlives the process, so connections that
// come while the service is restarted wait in it.
func Listen(ctx context.Context, address string, reusePort bool) (net.Listener, error) {
	inherited, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("taking over the socket of systemd: %w", err)
	}
	switch {
	case len(inherited) == 1 && inherited[0] != nil:
		return inherited[0], nil
	case len(inherited) > 0:
		return nil, fmt.Errorf("systemd handed over %d sockets: the service takes one stream socket", len(inherited))
	}
	return ListenOn(ctx, address, reusePort)
}

// ListenOn opens an address, with reusePort beside another process that does so too.
func ListenOn(ctx context.Context, address string, reusePort bool) (net.Listener, error) {
	config := &net.ListenConfig{}
	// Go listens for multipath TCP where it can. No visitor gains by it, and such a socket
	// can't be told to leave its port to another.
	config.SetMultipathTCP(false)
	if reusePort {
		config.Control = setReusePort
	}
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil || !reusePort {
		return listener, err
	}
	if err := joinPort(listener); err != nil {
		return nil, errors.Join(fmt.Errorf("sharing the port: %w", err), listener.Close())
	}
	return listener, nil
}
