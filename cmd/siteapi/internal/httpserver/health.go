package httpserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"siteapi/schema/request"
)

// Dependency is a system that the service uses, with its health check.
type Dependency struct {
	Name     string
	Required bool // /readyz returns 503 while a required dependency is down
	Ping     func(ctx context.Context) error
	// Interval is the minimum time between checks. While the dependency is down, it is at
	// most 10 seconds.
	Interval time.Duration

	mu      sync.Mutex // locked during a check, so other requests wait for its result
	state   dependencyState
	checked time.Time // on the monotonic clock, unlike AskedAt
}

// dependencyState is the state of a dependency in the response of /readyz.
type dependencyState struct {
	Status   string    `json:"status"` // ok or unavailable
	Required bool      `json:"required"`
	AskedAt  time.Time `json:"askedAt"`
}

// check returns the state of the dependency, and checks it if the last result is older
// than the interval.
func (d *Dependency) check(ctx context.Context, log zerolog.Logger) dependencyState {
	d.mu.Lock()
	defer d.mu.Unlock()

	interval, wasDown := d.Interval, d.state.Status == "unavailable"
	if wasDown {
		interval = min(interval, 10*time.Second)
	}
	if time.Since(d.checked) < interval {
		return d.state
	}

	// Other requests wait for the result, so the check continues if this request ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()

	err := d.Ping(ctx)
	d.checked = time.Now()
	d.state = dependencyState{
		Status:   "ok",
		Required: d.Required,
		AskedAt:  d.checked.UTC().Truncate(time.Millisecond),
	}

	switch {
	case err != nil && !wasDown:
		log.Warn().Str("dependency", d.Name).Err(err).Msg("dependency unavailable")
	case err == nil && wasDown:
		log.Info().Str("dependency", d.Name).Msg("dependency available again")
	}
	if err != nil {
		d.state.Status = "unavailable"
	}
	return d.state
}

// gauge returns the metric of the state.
func (d *Dependency) gauge(log zerolog.Logger) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "siteapi_dependency_up",
		Help:        "Whether a dependency is available (1) or not (0).",
		ConstLabels: prometheus.Labels{"dependency": d.Name},
	}, func() float64 {
		if d.check(context.Background(), log).Status == "ok" {
			return 1
		}
		return 0
	})
}

// live serves /healthz. The process is alive even while dependencies are down.
func live(w http.ResponseWriter, _ *http.Request) {
	request.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready serves /readyz: 200 while the service accepts requests, and the state of each
// dependency by name. The reason why a dependency is unavailable is only logged.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	status, text := http.StatusOK, "ok"
	states := make([]dependencyState, len(s.Dependencies))

	var group sync.WaitGroup
	for i, d := range s.Dependencies {
		group.Go(func() { states[i] = d.check(r.Context(), s.Log) })
	}
	group.Wait()

	all := map[string]dependencyState{}
	for i, state := range states {
		all[s.Dependencies[i].Name] = state
		if state.Required && state.Status != "ok" {
			status, text = http.StatusServiceUnavailable, "unavailable"
		}
	}

	if s.draining.Load() {
		status, text = http.StatusServiceUnavailable, "stopping"
	}

	request.WriteJSON(w, status, map[string]any{"status": text, "dependencies": all})
}
