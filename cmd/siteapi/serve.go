package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"siteapi/cmd/internal/tuning"
	"siteapi/cmd/siteapi/internal/config"
)

// serve answers requests until ctx ends, then finishes what is under way.
func serve(ctx context.Context, getenv func(string) string, out io.Writer) error {
	tuning.Memory(getenv)
	s, err := config.Read(getenv)
	if err != nil {
		return err
	}
	events := newLogWriter(out)
	defer func() { _ = events.Flush() }()
	log := newLogger(s, events)
	a, err := newApp(ctx, s, log)
	if err != nil {
		return err
	}
	listener, err := listenTCP(ctx, s)
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
	_ = events.Flush() // whoever waits for the service waits for this line
	tell(log, daemon.SdNotifyReady)
	return a.serve(ctx, listener)
}

// listenAdmin opens the admin listener. In development a taken port is no reason not to
// start: somebody else's metrics often have it.
func (a *app) listenAdmin(ctx context.Context) error {
	if a.settings.AdminAddr == "" {
		return nil
	}
	listener, err := listen(ctx, a.settings, a.settings.AdminAddr)
	switch {
	case err == nil:
		go a.serveAdmin(ctx, listener)
	case a.settings.Environment == config.Development:
		a.log.Warn().Err(err).Msg("going on without the admin listener: set ADMIN_ADDR to a free address, or to off")
	default:
		return fmt.Errorf("ADMIN_ADDR (off: none): %w", err)
	}
	return nil
}

// announce says at start where the service is and what a developer can do there.
func announce(log zerolog.Logger, s *config.Settings, addr net.Addr) {
	event := log.Info().Str("address", addr.String()).Str("environment", s.Environment).Str("version", versionText()).
		Str("cms", s.CMSDriver).Str("crm", s.CRMDriver).Str("cache", s.CacheURL.Scheme)
	if s.Playground {
		if _, port, err := net.SplitHostPort(addr.String()); err == nil {
			event = event.Str("playground", "http://localhost:"+port+"/playground")
		}
	}
	event.Msg("ready")
}

// newLogger writes to out; a console is for a person who watches, so it waits for
// nothing.
func newLogger(s *config.Settings, out *logWriter) zerolog.Logger {
	var w io.Writer = out
	if s.LogFormat == "console" {
		w = zerolog.ConsoleWriter{Out: out.out, TimeFormat: time.TimeOnly}
	}
	return zerolog.New(w).Level(s.LogLevel).With().Timestamp().Logger()
}
