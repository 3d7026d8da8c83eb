package main

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"
)

// health answers the questions of whoever watches over the process.
type health struct {
	probes   []*probe
	draining atomic.Bool // the process is about to stop
}

// live answers /healthz: the process runs. It stays up while dependencies are down.
func (h *health) live(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// dependency is the state of one dependency in the answer of /readyz.
type dependency struct {
	Status   string    `json:"status"` // ok or unavailable
	Required bool      `json:"required"`
	AskedAt  time.Time `json:"askedAt"`
}

// ready answers /readyz: 200 while the service should be sent requests, with the state
// of each dependency by name. Why one is unavailable is in the log, not for strangers.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	status, text := http.StatusOK, "ok"
	state := map[string]dependency{}
	for p, found := range askAll(r.Context(), h.probes) {
		d := dependency{Status: "ok", Required: p.required, AskedAt: found.at.UTC().Truncate(time.Millisecond)}
		if found.err != nil {
			d.Status = "unavailable"
			if p.required {
				status, text = http.StatusServiceUnavailable, "unavailable"
			}
		}
		state[p.name] = d
	}
	if h.draining.Load() {
		status, text = http.StatusServiceUnavailable, "stopping"
	}
	writeJSON(w, status, map[string]any{"status": text, "dependencies": state})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client went away: nobody is left to tell
}
