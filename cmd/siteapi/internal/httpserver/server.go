// Package httpserver serves the endpoints over HTTP: one router behind one chain of
// middleware, with limits on connections, on requests in flight and on their rate.
//
// A request passes through four functions to its endpoint. observe adds the caller and the
// record of the request to its context, sets headers, and logs and counts the request when
// it ends. admit enforces the limits of concurrent requests ([InFlight]) and of rates
// ([RateLimits]). compress selects the encoding of the response, and route finds the
// endpoint. Cached reads are served by package graphqlhttp, which looks up a response by
// the bytes of the request and writes it with request.WriteBody.
//
// What stops a client that sends too much, from the outside in; RATE_LIMITS=off lifts the
// limits with a star:
//
//	connections, of all and of a client          connections.go            MAX_CONNECTIONS
//	size and time of a header, time of a body    server.go
//	requests in flight of a client *             inflight.go
//	requests of a client and route *             ratelimit.go
//	requests in flight: all, with the database   inflight.go               MAX_REQUESTS
//	requests that sign in, streams               inflight.go
//	bytes of a body                              rest, graphqlhttp, mcp
//	size, cost and time of an operation          graphqlhttp/limits.go
//	root fields and large responses of GraphQL * ratelimit.go
//	bytes of a response                          executor/responsesize.go
//	PDFs being drawn                             quotepdf/quotepdf.go
//	new sessions and leads of a network *        quotes/track.go, submit.go
//	mails to visitors *                          leadmail/mail.go          VISITOR_MAILS_PER_HOUR
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // registers in http.DefaultServeMux, which the admin listener serves
	"net/url"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/cmd/siteapi/internal/mcp"
	"siteapi/integrations/panics"
	"siteapi/integrations/upstream"
	"siteapi/rest"
)

// Options configures a server.
type Options struct {
	GraphQL      http.Handler
	InboxGraphQL http.Handler // the endpoint of the inbox
	Workbook     http.Handler // the workbook of the inbox
	REST         *rest.API
	MCP          http.Handler            // the endpoint for assistants; nil: off
	Pages        map[string]http.Handler // pages by path
	Dependencies []*Dependency

	InFlight   *InFlight
	SignIn     *inbox.SignIn // nil: single sign-on is off
	Settings   *config.Settings
	RateLimits *RateLimits // nil: off
	Trace      func(next http.Handler) http.Handler
	Metrics    prometheus.Registerer
	Log        zerolog.Logger
}

// Server serves the public listener and the admin listener.
type Server struct {
	Options
	public      *http.Server
	admin       *http.Server
	routes      *http.ServeMux
	metrics     *metrics
	connections *connections
	refusedLog  zerolog.Logger // logs at most 10 refused requests per second
	panics      panics.Log
	draining    atomic.Bool
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{
		Options:     o,
		connections: newConnections(o.Settings.MaxConns, o.Settings.TrustedProxies),
		refusedLog:  o.Log.Sample(&zerolog.BurstSampler{Burst: 10, Period: time.Second}),
	}

	for _, d := range o.Dependencies {
		o.Metrics.MustRegister(d.gauge(o.Log))
	}

	s.routes, s.metrics = s.newRoutes(), newMetrics(o.Metrics, s.connections)

	admitted := s.admit(compress(http.HandlerFunc(s.route)))
	s.public = s.newHTTPServer(o.Trace(s.observe(false, admitted)))
	s.admin = s.newHTTPServer(o.Trace(s.observe(true, admitted)))
	return s
}

// newHTTPServer returns a server that closes the connections of slow clients.
func (s *Server) newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		MaxHeaderBytes:    32 << 10,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       3 * time.Minute, // longer than Caddy's, see "Limits" in the manual
		ErrorLog:          log.New(s.Log, "", 0),
		ReadTimeout:       15 * time.Second, // covers the whole request
		WriteTimeout:      30 * time.Second, // limit from the end of the header to the end of the response
	}
}

// Serve serves a listener until ctx ends, then finishes the requests in flight on it and
// on the admin listener. It calls stopping when the drain begins.
func (s *Server) Serve(ctx context.Context, listener net.Listener, stopping func()) error {
	s.connections.Listener = listener
	failed := make(chan error, 1)
	go func() { failed <- s.public.Serve(s.connections) }()

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}

	stopping()
	s.InFlight.stop() // clients reconnect, to another instance if there is one

	// During the delay, /readyz returns 503, and each connection is closed after its next
	// response rather than in the middle of a request.
	s.draining.Store(true)
	time.Sleep(s.Settings.DrainDelay)

	// Closing the listener makes the server return.
	_ = listener.Close()
	<-failed

	// Shutdown drops requests that are read after it has begun, so the connections that
	// were accepted last get time to send one.
	time.Sleep(min(s.Settings.DrainDelay, 200*time.Millisecond))

	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()

	for _, server := range []*http.Server{s.public, s.admin} {
		if err := server.Shutdown(closing); err != nil {
			s.Log.Warn().Err(err).Msg("requests did not finish in time: closing their connections")
			_ = server.Close()
		}
	}
	return nil
}

// Listen opens the public listener: the socket from systemd if there is one, else the
// address. A socket from systemd outlives the process and queues connections while the
// service restarts.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	inherited, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("using the socket from systemd: %w", err)
	}

	switch {
	case len(inherited) == 1 && inherited[0] != nil:
		return inherited[0], nil
	case len(inherited) > 0:
		return nil, fmt.Errorf("systemd passed %d sockets: configure exactly one stream socket",
			len(inherited))
	}

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("LISTEN_ADDR: %w", err)
	}
	return listener, nil
}

// ServeAdmin serves the admin listener until Serve ends: metrics, profiles, health
// checks, the inbox and operators' fields. Metrics and profiles need no token, so
// ADMIN_ADDR is a loopback address by default.
func (s *Server) ServeAdmin(listener net.Listener, metrics prometheus.Gatherer) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.Handle("/debug/pprof/", http.DefaultServeMux)
	mux.Handle("GET /{$}", http.RedirectHandler(inbox.Path, http.StatusFound))
	for _, path := range []string{GraphQLPath, inbox.Path, inbox.Path + "/", livePath, readyPath} {
		mux.Handle(path, s.admin.Handler)
	}
	if s.MCP != nil {
		mux.Handle(mcp.Path, s.admin.Handler)
	}

	s.admin.Handler = mux
	if address, ok := listener.Addr().(*net.TCPAddr); ok && address.IP.IsLoopback() {
		s.admin.Handler = requireLoopbackHost(mux)
	}

	// A profile may take longer than other responses.
	s.admin.WriteTimeout = 3 * time.Minute
	go func() {
		if err := s.admin.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.Log.Error().Err(err).Msg("the admin listener failed")
		}
	}()
}

func isLoopbackHost(r *http.Request) bool {
	return upstream.IsLocal((&url.URL{Host: r.Host}).Hostname())
}

// requireLoopbackHost refuses requests whose Host is not a loopback name. This prevents
// DNS rebinding attacks through a browser on this machine.
func requireLoopbackHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopbackHost(r) {
			http.Error(w, "ADMIN_ADDR serves only localhost: a proxy must set the Host header accordingly",
				http.StatusMisdirectedRequest)
			return
		}

		next.ServeHTTP(w, r)
	})
}
