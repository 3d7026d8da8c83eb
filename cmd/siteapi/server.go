package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// serverTimes bound how slow a client may be. One that is slower loses its connection.
type serverTimes struct {
	header time.Duration // for the header of a request
	read   time.Duration // for the whole request
	write  time.Duration // from the end of the header to the end of the answer
	idle   time.Duration // between two requests
	late   time.Duration // by how much each of them may be exceeded
}

func defaultTimes() serverTimes {
	return serverTimes{header: 5 * time.Second, read: 15 * time.Second, write: 30 * time.Second, idle: 2 * time.Minute, late: time.Second}
}

const (
	maxHeaderBytes    = 32 << 10
	adminWriteTimeout = 3 * time.Minute // a profile takes its time
)

func (t serverTimes) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: t.header, ReadTimeout: t.read, WriteTimeout: t.write, IdleTimeout: t.idle,
		MaxHeaderBytes: maxHeaderBytes,
	}
}

// serveAdmin answers on the admin listener until the process ends: an operator wants
// to see what a stopping service does.
func (a *app) serveAdmin(ctx context.Context, listener net.Listener) {
	server := a.times.server(newAdmin(a.metrics, a.health))
	server.WriteTimeout = adminWriteTimeout
	server.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	if err := server.Serve(listener); err != nil {
		a.log.Error().Err(err).Msg("the admin listener ended")
	}
}

// serve answers on a listener until ctx ends.
func (a *app) serve(ctx context.Context, listener net.Listener) error {
	bounded := newPlaces(listener, a.settings.MaxConns, a.settings.TrustedProxies, a.metrics.refusedConn)
	a.metrics.watchPlaces(bounded)
	server := a.times.server(a.farewell(a.handler))
	server.ConnState = bounded.state
	watch, relax := context.WithCancel(context.WithoutCancel(ctx))
	defer relax()
	go bounded.patrol.walk(watch, a.times.late)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(bounded) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		a.drain(listener)
		err = errors.Join(closed(listener.Close()), closed(<-failed))
		settle(bounded)
	}
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err = errors.Join(err, closed(server.Shutdown(rest)), a.shutdown(rest))
	a.log.Info().Msg("stopped")
	return err
}

// drain goes on for DRAIN_DELAY after the word to stop: whoever asks /readyz learns of
// it and sends requests elsewhere, and connections that are kept open end with their next
// answer rather than in the middle of a request.
func (a *app) drain(listener net.Listener) {
	a.health.draining.Store(true)
	a.log.Info().Msg("stopping")
	tell(a.log, daemon.SdNotifyStopping)
	if a.settings.ReusePort {
		if err := leavePort(listener); err != nil {
			a.log.Warn().Err(err).Msg("leaving the port to the next process: connections of this moment may be reset")
		}
	}
	time.Sleep(a.settings.DrainDelay)
}

// closed leaves out what only says that the listener was closed.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// freshWait is how long the first requests of the latest connections are waited for.
const freshWait = time.Second

// settle waits until the first request of each connection has been read. The server's
// Shutdown drops those that it reads after it has begun, although they were accepted.
func settle(l *places) {
	const pause = 2 * time.Millisecond
	for end := time.Now().Add(freshWait); l.fresh() > 0 && time.Now().Before(end); {
		time.Sleep(pause)
	}
	time.Sleep(pause) // from the reading of a request to its handler
}

// farewell has connections end with the answer that is being given, once the process
// is about to stop.
func (a *app) farewell(next http.Handler) http.Handler {
	draining := &a.health.draining
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if draining.Load() {
			w.Header()["Connection"] = []string{"close"}
		}
		next.ServeHTTP(w, r)
	})
}
