package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/schema/playground"
)

// serve answers requests until ctx ends, then finishes what is under way.
func serve(ctx context.Context, getenv func(string) string, out io.Writer) error {
	s, err := config.Read(getenv)
	if err != nil {
		return err
	}
	collectLessOften(getenv)
	log := telemetry.NewLogger(s, out)
	a, err := newApp(ctx, s, log)
	if err != nil {
		return err
	}
	listener, err := httpserver.Listen(ctx, s.ListenAddr)
	if err != nil {
		return errors.Join(fmt.Errorf("LISTEN_ADDR: %w", err), a.shutdown(ctx))
	}
	if err := a.listenAdmin(ctx); err != nil {
		return errors.Join(err, listener.Close(), a.shutdown(ctx))
	}
	if err := a.start(ctx); err != nil {
		return errors.Join(err, listener.Close(), a.shutdown(ctx))
	}
	announce(log, s, listener.Addr())
	notifySystemd(log, daemon.SdNotifyReady)
	return a.serve(ctx, listener)
}

// collectLessOften lets the heap grow to five times what is in use, up to a limit: with the
// few megabytes that are in use the runtime's default collects garbage a hundred times a
// second, which takes a sixth of every figure of `make bench`.
func collectLessOften(getenv func(string) string) {
	const limit = 128 << 20 // bytes
	if getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// serve answers on a listener until ctx ends.
func (a *app) serve(ctx context.Context, listener net.Listener) error {
	err := a.server.Serve(ctx, listener, func() {
		a.log.Info().Msg("stopping")
		notifySystemd(a.log, daemon.SdNotifyStopping)
	})
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err = errors.Join(err, a.shutdown(rest))
	a.log.Info().Msg("stopped")
	return err
}

// listenAdmin opens the admin listener, which answers until the process ends. In
// development a taken port is no reason not to start.
func (a *app) listenAdmin(ctx context.Context) error {
	if a.settings.AdminAddr == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.settings.AdminAddr)
	switch {
	case err == nil:
		go func() {
			err := a.server.ServeAdmin(listener, a.metrics.Registry)
			a.log.Error().Err(err).Msg("the admin listener ended")
		}()
	case a.settings.Environment == config.Development:
		a.log.Warn().Err(err).Msg("going on without the admin listener: set ADMIN_ADDR to a free address, or to off")
	default:
		return fmt.Errorf("ADMIN_ADDR (off: none): %w", err)
	}
	return nil
}

// announce logs where the service is and what a developer can do there.
func announce(log zerolog.Logger, s *config.Settings, addr net.Addr) {
	event := log.Info().Str("address", addr.String()).Str("environment", s.Environment).Str("version", versionText()).
		Str("cms", s.CMSDriver).Str("crm", s.CRMDriver).Str("cache", s.CacheURL.Scheme)
	if _, port, err := net.SplitHostPort(addr.String()); err == nil {
		base := "http://localhost:" + port
		if s.FrontPage {
			event.Str("open", base+"/").Str("calculator", base+"/calculator").Str("reference", base+"/docs")
		}
		if s.Playground {
			event.Str("playground", base+playground.Path)
		}
	}
	event.Msg("ready")
}

// notifySystemd tells systemd the state of the service, where it has asked for that.
func notifySystemd(log zerolog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn().Err(err).Msg("cannot notify systemd")
	}
}
