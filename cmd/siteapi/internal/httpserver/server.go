// Package httpserver serves the endpoints over HTTP: one router behind one chain of
// middleware, with limits on connections, on requests in flight and on their rate.
package httpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
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
	MaxRequests    int
	RateLimits     *RateLimits // nil: no client is limited
	TrustedProxies []netip.Prefix
	CORSOrigins    []string
	DrainDelay     time.Duration // from the signal to stop until no more connections are accepted

	Trace   func(next http.Handler, route func(*http.Request) string) http.Handler
	Metrics prometheus.Registerer
	Log     zerolog.Logger
}

// Server answers requests on one listener.
type Server struct {
	Options
	handler     http.Handler
	admin       http.Handler    // for operators, on the admin listener
	names       map[string]bool // of routes
	proxies     proxies
	metrics     *metrics
	requests    *slots
	large       *slots // of requests with large bodies
	decoding    chan struct{}
	clients     *clientCounter
	connections *connections
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{
		Options: o, names: routeNames(o), proxies: o.TrustedProxies,
		requests: &slots{max: int64(o.MaxRequests)}, large: &slots{max: int64(min(maxLarge, o.MaxRequests))},
		decoding: make(chan struct{}, maxDecoding), clients: &clientCounter{inFlight: map[string]int{}},
		connections: &connections{max: o.MaxConnections, proxies: o.TrustedProxies, open: map[net.Conn]string{}},
	}
	s.metrics = newMetrics(o.Metrics, s.requests, s.large, s.connections)
	// The first is the outermost.
	trace := func(next http.Handler) http.Handler { return o.Trace(next, s.routeName) }
	s.handler = chain(s.router(o.ServeOperators),
		s.withCaller,
		trace,
		s.logAccess,
		s.setHeaders,
		s.allowOrigins,
		s.limitConcurrency,
		s.limitRate,
	)
	s.admin = chain(s.router(true), s.withCaller, trace, s.logAccess, s.setHeaders, s.limitConcurrency, s.limitRate)
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
	lastRequests   = 200 * time.Millisecond // from the last connection accepted to its request
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
	limited, failed := s.connections.limit(listener, server), make(chan error, 1)
	go func() { failed <- server.Serve(limited) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stopping()
	// /readyz says so, and connections that are kept open are closed with their next response
	// rather than in the middle of a request.
	s.Health.draining.Store(true)
	time.Sleep(s.DrainDelay)
	err := errors.Join(ignoreClosed(listener.Close()), ignoreClosed(<-failed))
	// Shutdown drops requests that are read after it has begun: those of the connections that
	// were accepted last are under way.
	time.Sleep(min(s.DrainDelay, lastRequests))
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(err, server.Shutdown(rest))
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
