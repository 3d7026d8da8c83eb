package httpserver

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/rest"
)

// A panic is logged and causes the status 500. A response that has begun is cut off.
func TestRecoverPanics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &Server{Options: Options{Log: zerolog.New(&log), Settings: &config.Settings{}, REST: &rest.API{}}}
	s.routes = http.NewServeMux()
	s.metrics = newMetrics(prometheus.NewRegistry(), newConnections(1, nil))

	server := httptest.NewServer(s.observe(false,
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/late" {
				_, _ = w.Write([]byte("half"))
			}
			panic("boom")
		}),
	))
	t.Cleanup(server.Close)

	s.newHTTPServer(nil).ErrorLog.Print("of net/http")
	if !strings.Contains(log.String(), `"message":"of net/http"`) {
		t.Errorf("net/http does not log events: %s", log.String())
	}

	resp, err := http.Get(server.URL + "/early")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 500 ||
		resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}

	if !strings.Contains(log.String(), "boom") || !strings.Contains(log.String(), "middleware_test.go") {
		t.Errorf("the log lacks the panic or its stack: %s", log.String())
	}

	if resp, err := http.Get(server.URL + "/late"); err == nil {
		_ = resp.Body.Close()
		if resp.ContentLength >= 0 {
			t.Error("a truncated response looks complete")
		}
	}
}
