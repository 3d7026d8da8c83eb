package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// shed counts a request that was refused because there were too many of its class.
func (m *metrics) shed(c class) { m.sheds.WithLabelValues(c.String()).Inc() }

// refusedConn counts a connection that found no place.
func (m *metrics) refusedConn() { m.refused.Inc() }

// buildInfo tells versions apart.
func buildInfo() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "siteapi", Name: "build_info", Help: "Always 1; the version is a label.",
		ConstLabels: prometheus.Labels{"version": versionText()},
	}, func() float64 { return 1 })
}

// watchGate shows how many requests of each class are being worked on.
func (m *metrics) watchGate(g *gate) {
	for c := range classes {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "siteapi", Name: "http_requests_under_way", Help: "Requests being worked on.",
			ConstLabels: prometheus.Labels{"class": c.String()},
		}, func() float64 { return float64(g.number(c)) }))
	}
}

// watchDependencies shows which dependencies work.
func (m *metrics) watchDependencies(probes []*probe) {
	for _, p := range probes {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "siteapi", Name: "dependency_up", Help: "1 while a dependency works.",
			ConstLabels: prometheus.Labels{"dependency": p.name},
		}, func() float64 {
			if p.state(context.Background()).err != nil {
				return 0
			}
			return 1
		}))
	}
}

// watchPlaces shows how many connections are open.
func (m *metrics) watchPlaces(l *places) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "siteapi", Name: "connections", Help: "Open connections of clients.",
	}, func() float64 { return float64(l.number()) }))
}
