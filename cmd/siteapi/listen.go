package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
)

// listenTCP opens the service's listener: the socket that systemd has opened where there
// is one, else LISTEN_ADDR. A socket of systemd's outlives the process, so connections
// that come while the service is restarted wait in it.
func listenTCP(ctx context.Context, s *config.Settings) (net.Listener, error) {
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
	return listen(ctx, s, s.ListenAddr)
}

// listen opens an address, with LISTEN_REUSEPORT beside another process that does so.
func listen(ctx context.Context, s *config.Settings, address string) (net.Listener, error) {
	config := &net.ListenConfig{}
	// Go listens for multipath TCP where it can. No visitor gains by it, and such a socket
	// can't be told to leave its port to another.
	config.SetMultipathTCP(false)
	if s.ReusePort {
		config.Control = reusePort
	}
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil || !s.ReusePort {
		return listener, err
	}
	if err := joinPort(listener); err != nil {
		return nil, errors.Join(fmt.Errorf("sharing the port: %w", err), listener.Close())
	}
	return listener, nil
}

// tell lets systemd know how things stand, where it has asked to be told.
func tell(log zerolog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn().Err(err).Msg("telling systemd how things stand")
	}
}
