package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/telemetry"
)

// serve answers requests until ctx ends, then finishes what is under way.
func serve(ctx context.Context, getenv func(string) string, out io.Writer) error {
	s, err := config.Read(getenv)
	wrong, _ := errors.AsType[config.Problems](err)
	if wrong = CheckServing(s, wrong); len(wrong) > 0 {
		return wrong
	}

	log := telemetry.NewLogger(s, out)
	for _, warning := range s.Warnings {
		log.Warn().Msg(warning)
	}

	a, err := New(ctx, s, log)
	if err != nil {
		return err
	}

	listener, err := httpserver.Listen(ctx, s.ListenAddr)
	if err == nil {
		err = a.listenAdmin(ctx)
	}
	if err == nil {
		err = a.Start(ctx)
	}
	if err != nil {
		return errors.Join(err, a.shutdown(ctx))
	}

	ready := log.Info().
		Str("address", listener.Addr().String()).
		Str("environment", s.Environment).
		Str("version", Version()).
		Str("cms", s.CMSDriver).
		Str("crm", s.CRMDriver).
		Str("cache", s.CacheURL.Scheme)

	if _, port, err := net.SplitHostPort(listener.Addr().String()); err == nil && s.FrontPage {
		ready.Str("open", "http://localhost:"+port+"/") // it links to all other pages
	}
	if inbox := inboxURL(s); inbox != "" {
		ready.Str("inbox", inbox)
	}
	ready.Msg("ready")

	// This does nothing unless systemd waits for it; systemd itself reports a
	// notification that does not arrive.
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady)
	return a.Serve(ctx, listener)
}

// collectLessOften lets the heap grow to five times what is in use, up to a limit. With
// the few megabytes that are in use, the runtime's default collects garbage a hundred
// times a second, which costs a sixth of every figure of `make bench`. GOGC and GOMEMLIMIT
// win, but not those of a file with settings: the runtime reads them when the process starts.
func collectLessOften(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(128 << 20) // bytes
	}
}

// Serve answers on a listener until ctx ends.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	err := a.Server.Serve(ctx, listener, func() {
		a.log.Info().Msg("stopping")
		_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	})

	// Deliveries under way get time to finish.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()

	err = errors.Join(err, a.shutdown(ctx))
	a.log.Info().Msg("stopped")
	return err
}

// listenAdmin opens the admin listener.
func (a *App) listenAdmin(ctx context.Context) error {
	if a.AdminAddr == "" {
		return nil
	}

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.AdminAddr)
	if err != nil {
		return fmt.Errorf("ADMIN_ADDR (off: none): %w", err)
	}
	a.Server.ServeAdmin(listener, a.Metrics.Registry)
	return nil
}

// upkeep deletes data that is older than its retention, once an hour, and 15 seconds after a
// failure. Every instance does so; data that one of them has deleted is no longer found by
// the others.
func (a *App) upkeep(ctx context.Context) {
	for {
		wait := time.Hour
		if !a.retention.Run(ctx) {
			wait = 15 * time.Second
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
