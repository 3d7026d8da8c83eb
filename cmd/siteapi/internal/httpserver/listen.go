package httpserver

import (
	"context"
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
)

// Listen opens the service's listener: the socket that systemd has opened where there is
// one, else the address. A socket of systemd's outlives the process, so connections that
// come while the service is restarted wait in it.
func Listen(ctx context.Context, address string) (net.Listener, error) {
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
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}
