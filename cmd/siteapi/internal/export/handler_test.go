package export

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A file may take longer than the server allows a response.
func TestPatientWriter(t *testing.T) {
	t.Parallel()
	const limit = 100 * time.Millisecond
	part := bytes.Repeat([]byte("a"), 64<<10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		patient := patientWriter{w, http.NewResponseController(w)}
		for range 4 {
			time.Sleep(limit)
			if _, err := patient.Write(part); err != nil {
				t.Error(err)
			}
		}
	}))
	server.Config.WriteTimeout = limit
	server.Start()
	defer server.Close()

	resp, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err := io.ReadAll(resp.Body); err != nil || len(body) != 4*len(part) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}
