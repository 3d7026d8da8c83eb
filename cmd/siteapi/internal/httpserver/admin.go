package httpserver

import (
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ServeAdmin answers on the admin listener: metrics, profiles, the probes, and what is for
// operators. Metrics and profiles have no guard, which is why it listens on the loopback by
// default.
func (s *Server) ServeAdmin(listener net.Listener, metrics prometheus.Gatherer) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET "+livePath, s.Health.live)
	mux.HandleFunc("GET "+readyPath, s.Health.ready)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	for _, path := range []string{GraphQLPath, AdminPath, AdminPath + "/"} {
		mux.Handle(path, s.admin)
	}
	handler := http.Handler(mux)
	if address, ok := listener.Addr().(*net.TCPAddr); ok && address.IP.IsLoopback() {
		handler = requireLoopbackHost(mux)
	}
	server := newHTTPServer(handler)
	server.WriteTimeout = profileTimeout
	return server.Serve(listener)
}

// requireLoopbackHost refuses requests to a name that is not this machine's own: a page in
// a browser here can have its own name resolve to the loopback address.
func requireLoopbackHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
			http.Error(w, "ADMIN_ADDR answers to localhost here: have a proxy set the header Host", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
