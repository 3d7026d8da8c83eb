package main

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// probeTimeout is how long one dependency may take to answer.
const probeTimeout = 2 * time.Second

// probe asks one dependency whether it works.
type probe struct {
	name string
	// required: without it the service can't do its work, so /readyz answers 503.
	required bool
	ask      func(ctx context.Context) error
}

// health answers the questions of whoever watches over the process.
type health struct {
	probes   []probe
	draining atomic.Bool // the process is about to stop
}

// live answers /healthz: the process runs. It stays up while dependencies are down.
func (h *health) live(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// dependency is the state of one dependency in the answer of /readyz.
type dependency struct {
	Status   string `json:"status"` // ok or unavailable
	Required bool   `json:"required"`
}

// ready answers /readyz: 200 while the service should be sent requests, with the state
// of each dependency by name. Errors go to the log, not to strangers.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
	defer cancel()
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		state = map[string]dependency{}
		ok    = true
	)
	for _, p := range h.probes {
		group.Go(func() {
			err := p.ask(ctx)
			mu.Lock()
			defer mu.Unlock()
			d := dependency{Status: "ok", Required: p.required}
			if err != nil {
				d.Status = "unavailable"
				ok = ok && !p.required
			}
			state[p.name] = d
		})
	}
	group.Wait()
	status, text := http.StatusOK, "ok"
	switch {
	case h.draining.Load():
		status, text = http.StatusServiceUnavailable, "stopping"
	case !ok:
		status, text = http.StatusServiceUnavailable, "unavailable"
	}
	writeJSON(w, status, map[string]any{"status": text, "dependencies": state})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client went away: nobody is left to tell
}
