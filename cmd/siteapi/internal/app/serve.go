package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/cmd/siteapi/internal/telemetry"
)

// serve runs the service until ctx ends, then finishes running requests.
func serve(ctx context.Context, getenv func(string) string, out io.Writer) error {
	s, err := config.Read(getenv)
	wrong, _ := errors.AsType[config.Problems](err)
	if wrong = systems.CheckServing(s, wrong); len(wrong) > 0 {
		return wrong
	}

	// A reader of the log that ends must not end the service.
	signal.Ignore(syscall.SIGPIPE)
	metrics := telemetry.NewMetrics(Version())
	log := telemetry.NewLog(s, out, metrics)
	defer log.Flush()
	for _, warning := range append(s.Warnings, fewFiles(s)...) {
		log.Warn().Msg(warning)
	}

	a, err := New(ctx, s, log.Logger, metrics)
	if err != nil {
		return err
	}

	listener, err := httpserver.Listen(ctx, s.ListenAddr)
	if err == nil {
		err = a.listenAdmin(ctx)
	}
	if err != nil {
		return errors.Join(err, a.shutdown(ctx))
	}
	a.Start(ctx)

	ready := log.Info().
		Str("address", listener.Addr().String()).
		Str("environment", s.Environment).
		Str("version", Version()).
		Str("cms", s.CMSDriver).
		Str("crm", s.CRMDriver).
		Str("cache", s.CacheURL.Scheme)

	if _, port, err := net.SplitHostPort(listener.Addr().String()); err == nil && s.FrontPage {
		ready.Str("open", "http://localhost:"+port+"/") // the front page links to all other pages
	}
	if inbox := inboxURL(s); inbox != "" {
		ready.Str("inbox", inbox)
	}
	ready.Msg("ready")

	// This does nothing without systemd, which itself reports a missing notification.
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady)
	return a.Serve(ctx, listener)
}

// fewFiles warns if the process may open fewer files than connections.
func fewFiles(s *config.Settings) []string {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil ||
		files.Cur >= uint64(s.MaxConns) {
		return nil
	}
	return []string{fmt.Sprintf("this process may open %d files (nofile), fewer than MAX_CONNECTIONS=%d: "+
		"raise the limit (LimitNOFILE, ulimits), or lower the setting", files.Cur, s.MaxConns)}
}

// collectLessOften lets the heap grow to five times the live data, up to a limit. The
// live data is a few megabytes, for which the default collects garbage a hundred times a
// second and costs a sixth of every figure of `make bench`. GOGC and GOMEMLIMIT override
// it, but only as environment variables: the runtime reads them before the settings file
// is loaded.
func collectLessOften(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(128 << 20) // bytes
	}
}

// Serve serves on a listener until ctx ends.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	err := a.Server.Serve(ctx, listener, func() {
		a.log.Info().Msg("stopping")
		_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	})

	// Running deliveries get time to finish.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()

	err = errors.Join(err, a.shutdown(ctx))
	a.log.Info().Msg("stopped")
	return err
}

// listenAdmin starts the server on ADMIN_ADDR.
func (a *App) listenAdmin(ctx context.Context) error {
	if a.settings.AdminAddr == "" {
		return nil
	}

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.settings.AdminAddr)
	if err != nil {
		return fmt.Errorf("ADMIN_ADDR (\"off\" disables this listener): %w", err)
	}
	a.Server.ServeAdmin(listener, a.Metrics.Registry)
	return nil
}

// upkeep deletes expired data once an hour, and again 15 seconds after a failure. It also
// keeps the spare file.
// Instances do not coordinate: the first one deletes the data.
func (a *App) upkeep(ctx context.Context) {
	for {
		a.Data.KeepSpare()
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
