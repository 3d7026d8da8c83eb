package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/internal/tuning"
)

// Time-outs and bounds of the listener. A client that is slower gives its place up.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
)

// serve answers requests until ctx ends, then finishes what is under way.
func serve(ctx context.Context, getenv func(string) string, out io.Writer) error {
	tuning.Apply(getenv)
	s, err := readSettings(getenv)
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
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.ListenAddr)
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
	return a.serve(ctx, listener)
}

// listenAdmin opens the admin listener. In development a taken port is no reason not to
// start: somebody else's metrics often have it.
func (a *app) listenAdmin(ctx context.Context) error {
	if a.settings.AdminAddr == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.settings.AdminAddr)
	switch {
	case err == nil:
		go a.serveAdmin(ctx, listener)
	case a.settings.Environment == development:
		a.log.Warn().Err(err).Msg("going on without the admin listener: set ADMIN_ADDR to a free address, or to off")
	default:
		return fmt.Errorf("ADMIN_ADDR (off: none): %w", err)
	}
	return nil
}

// serveAdmin answers on the admin listener until the process ends: an operator wants
// to see what a stopping service does.
func (a *app) serveAdmin(ctx context.Context, listener net.Listener) {
	server := &http.Server{
		Handler: newAdmin(a.metrics, a.health), ReadHeaderTimeout: readHeaderTimeout, MaxHeaderBytes: maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	if err := server.Serve(listener); err != nil {
		a.log.Error().Err(err).Msg("the admin listener ended")
	}
}

// serve answers on a listener until ctx ends.
func (a *app) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: a.handler, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		a.health.draining.Store(true)
		a.log.Info().Msg("stopping")
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err = errors.Join(err, server.Shutdown(drain), a.shutdown(drain))
	a.log.Info().Msg("stopped")
	return err
}

// announce says at start where the service is and what a developer can do there.
func announce(log zerolog.Logger, s *Settings, addr net.Addr) {
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
func newLogger(s *Settings, out *logWriter) zerolog.Logger {
	var w io.Writer = out
	if s.LogFormat == "console" {
		w = zerolog.ConsoleWriter{Out: out.out, TimeFormat: time.TimeOnly}
	}
	return zerolog.New(w).Level(s.LogLevel).With().Timestamp().Logger()
}
