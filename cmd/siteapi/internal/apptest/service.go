package apptest

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/app"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/store"
	"siteapi/integrations/store/storetest"
)

// Counter returns the sum of a metric over its series with some labels; a histogram
// counts its observations. It waits for the first series, as a scrape omits metrics of a
// busy database.
func Counter(t *testing.T, s *Service, name string, labels map[string]string) (value float64) {
	t.Helper()
	Eventually(t, name+" is scraped", func() (found bool) {
		families, err := s.App.Metrics.Registry.Gather()
		must(t, err)

		value = 0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				same := 0
				for _, l := range m.GetLabel() {
					if want, named := labels[l.GetName()]; named && want == l.GetValue() {
						same++
					}
				}

				if f.GetName() == name && same == len(labels) {
					value += m.GetCounter().GetValue() + m.GetGauge().GetValue() +
						float64(m.GetHistogram().GetSampleCount())
					found = true
				}
			}
		}
		return found
	})
	return value
}

// Service is the app under test on a real listener, with its database and file drivers in a
// temporary folder.
type Service struct {
	Client
	App  *app.App
	Env  []string
	halt func()
}

// Start starts a service in development with additional settings.
func Start(t *testing.T, env ...string) *Service {
	t.Helper()
	client := Client{T: t, DataDir: t.TempDir(), Log: &SyncBuffer{}}
	s := &Service{Client: client, Env: defaults(client.DataDir, env)}
	s.Start()
	return s
}

// defaults returns the settings of a service in development, completed by others.
func defaults(dataDir string, env []string) []string {
	return append([]string{
		"ENVIRONMENT=development",
		"LOG_FORMAT=json",
		"RATE_LIMITS=off",
		"ADMIN_ADDR=off",
		"DATA_DIR=" + dataDir,
	}, env...)
}

// Lookup returns the function that reads an environment. The last value of a variable
// takes precedence, as it does for processes.
func Lookup(env []string) func(name string) string {
	return func(name string) (value string) {
		for _, setting := range env {
			if given, is := strings.CutPrefix(setting, name+"="); is {
				value = given
			}
		}
		return value
	}
}

// Start starts the service. It can be called again after Stop.
func (s *Service) Start() {
	s.T.Helper()
	settings, err := config.Read(Lookup(s.Env))
	must(s.T, err)

	a, err := app.New(s.T.Context(), settings, zerolog.New(s.Log).Level(settings.LogLevel),
		telemetry.NewMetrics(""))
	must(s.T, err)

	listener, err := (&net.ListenConfig{}).Listen(s.T.Context(), "tcp", "127.0.0.1:0")
	must(s.T, err)
	a.Start(s.T.Context())

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx, listener) }()

	s.App, s.Base = a, "http://"+listener.Addr().String()
	s.halt = func() {
		cancel()
		if err := <-done; err != nil && !strings.Contains(err.Error(), http.ErrServerClosed.Error()) {
			s.T.Errorf("stopping: %v", err)
		}
	}
	s.T.Cleanup(s.Stop)
}

// Stop stops the service as a signal would.
func (s *Service) Stop() {
	if s.halt != nil {
		s.halt()
		s.halt = nil
	}
}

// Restart stops the service, and starts it with additional settings.
func (s *Service) Restart(env ...string) {
	s.T.Helper()
	s.Stop()
	s.Env = append(s.Env, env...)
	s.Start()
}

// Eventually waits until ok returns true.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for pause := 5 * time.Millisecond; !ok(); pause = min(2*pause, 100*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: did not happen within three minutes", what)
		}
		time.Sleep(pause)
	}
}

// StoredLeads returns the number of leads in the database.
func (s *Service) StoredLeads() int {
	s.T.Helper()
	counts, err := s.App.Data.Store.CountWork(s.T.Context(), store.Filter{})
	must(s.T, err)
	return storetest.Total(counts)
}

// SyncBuffer is a log that can be read while the service writes it.
type SyncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *SyncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *SyncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Has reports whether the log contains a string.
func (b *SyncBuffer) Has(text string) bool { return strings.Contains(b.String(), text) }
