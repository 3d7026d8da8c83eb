package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"time"

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
	if err == nil {
		err = a.listenAdmin(ctx)
	}
	if err == nil {
		err = a.start(ctx)
	}
	if err != nil {
		return errors.Join(err, a.shutdown(ctx))
	}
	announce(log, s, listener.Addr())
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady) // where systemd asks for it, which notices what it is not told
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
		_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
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
		a.log.Warn().Err(err).Msg("cannot open the admin listener, continuing without it: set ADMIN_ADDR to a free address, or to off")
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

// upkeep forgets what is older than TRACK_RETENTION and SUBMISSION_RETENTION and reports
// overdue deliveries, once an hour. Every instance does it: what one has removed the others
// don't find.
func (a *app) upkeep(ctx context.Context) {
	ticker := time.NewTicker(upkeepInterval)
	defer ticker.Stop()
	for {
		a.forget(ctx, "sessions", a.settings.TrackRetention, a.data.Archive.PruneSessions)
		a.forget(ctx, "submissions", a.settings.LeadRetention, a.data.Archive.PruneSubmissions)
		a.reportOverdue(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// forget removes what is older than kept, nothing if that is 0.
func (a *app) forget(
	ctx context.Context, what string, kept time.Duration, prune func(context.Context, time.Time) (int64, error),
) {
	if kept == 0 {
		return
	}
	n, err := prune(ctx, time.Now().Add(-kept))
	if n > 0 { // some may be removed beside an error
		a.log.Info().Int64(what, n).Msg("deleted old " + what)
		err = errors.Join(err, a.resolver.ForgetPDFs(ctx))
	}
	if err != nil && ctx.Err() == nil {
		a.log.Error().Err(err).Msg("deleting old " + what)
	}
}

// reportOverdue logs which targets lack leads that are older than queue.OverdueAge.
func (a *app) reportOverdue(ctx context.Context) {
	counts, err := a.data.Queue.Counts(ctx)
	if err != nil && ctx.Err() == nil {
		a.log.Warn().Err(err).Msg("looking for overdue deliveries")
	}
	for _, c := range counts {
		if c.Overdue > 0 {
			a.log.Error().Str("target", string(c.Target)).Int64("deliveries", c.Overdue).Time("oldest", c.Oldest).
				Msg("deliveries are overdue")
		}
	}
}
