// Package httpserver serves the endpoints over HTTP: one router behind one chain of
// middleware, with limits on connections, on requests in flight and on their rate.
package httpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"siteapi/rest"
)

// Options is what a server is made of.
type Options struct {
	GraphQL http.Handler
	REST    *rest.API
	Pages   map[string]http.Handler // by path: a single segment, beside "/"
	Inbox   http.Handler            // at AdminPath and below, on the admin listener
	Health  *Health

	ServeOperators bool // on the public listener too
	MaxConnections int
	MaxRequests    int         // of each class
	RateLimits     *RateLimits // nil: no client is limited
	TrustedProxies []netip.Prefix
	CORSOrigins    []string
	DrainDelay     time.Duration // from the signal to stop until no more connections are accepted
	ReusePort      bool          // the listener shares its port

	Trace   func(next http.Handler, route func(*http.Request) string) http.Handler // nil: nothing is traced
	Metrics prometheus.Registerer
	Log     zerolog.Logger
}

// Server answers requests on one listener.
type Server struct {
	Options
	handler     http.Handler
	admin       http.Handler // for operators, on the admin listener
	routeNames  map[string]bool
	proxies     proxies
	cors        cors
	metrics     *metrics
	requests    *concurrency
	connections *connections
	draining    atomic.Bool
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{
		Options: o, routeNames: newRouteNames(o), proxies: o.TrustedProxies, cors: newCORS(o.CORSOrigins),
		metrics: newMetrics(o.Metrics),
	}
	s.requests = newConcurrency(o.MaxRequests, o.RateLimits != nil, s.metrics)
	s.connections = newConnections(o.MaxConnections, o.TrustedProxies, s.metrics)
	trace := func(next http.Handler) http.Handler { return next }
	if o.Trace != nil {
		trace = func(next http.Handler) http.Handler { return o.Trace(next, s.routeName) }
	}
	// The first is the outermost.
	s.handler = chain(s.router(o.ServeOperators),
		s.closeWhileDraining,
		trace,
		s.withCaller,
		s.logAccess,
		s.recoverPanics,
		s.setSecurityHeaders,
		s.allowOrigins,
		s.limitConcurrency,
		s.limitRate,
	)
	s.admin = chain(s.router(true),
		trace,
		s.withCaller,
		s.logAccess,
		s.recoverPanics,
		s.setSecurityHeaders,
		s.limitConcurrency,
		s.limitRate,
	)
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// How slow a client may be. One that is slower loses its connection.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 15 * time.Second // of the whole request
	writeTimeout   = 30 * time.Second // from the end of the header to the end of the response
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
	profileTimeout = 3 * time.Minute // of a response on the admin listener
	drainTimeout   = 20 * time.Second
)

func newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
	}
}

// Serve answers on a listener until ctx ends, then finishes the requests in flight.
// Stopping is called when the drain begins.
func (s *Server) Serve(ctx context.Context, listener net.Listener, stopping func()) error {
	server := newHTTPServer(s)
	server.ConnState = s.connections.track
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(s.connections.limit(listener)) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stopping()
	s.drain(listener)
	err := errors.Join(ignoreClosed(listener.Close()), ignoreClosed(<-failed))
	s.connections.awaitFirstRequests()
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(err, server.Shutdown(rest))
}

// drain goes on for the drain delay: /readyz says so, and connections that are kept open
// are closed with their next response rather than in the middle of a request.
func (s *Server) drain(listener net.Listener) {
	s.draining.Store(true)
	s.Health.draining.Store(true)
	if s.ReusePort {
		if err := leavePort(listener); err != nil {
			s.Log.Warn().Err(err).Msg("cannot hand the port to the next process: connections of this moment may be reset")
		}
	}
	time.Sleep(s.DrainDelay)
}

func (s *Server) closeWhileDraining(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
