package httpserver

import (
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ServeAdmin answers on the admin listener: metrics, profiles and the probes. It has no
// guard of its own, which is why it listens on the loopback by default.
func ServeAdmin(listener net.Listener, metrics prometheus.Gatherer, h *Health) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET "+livePath, h.live)
	mux.HandleFunc("GET "+readyPath, h.ready)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := newHTTPServer(mux)
	server.WriteTimeout = profileTimeout
	return server.Serve(listener)
}
