package main

import (
	"net/http"
	"testing"
)

// Routes that answer GET answer HEAD and OPTIONS, and nothing else.
func TestMethodsOfPages(t *testing.T) {
	t.Parallel()
	r := launch(t, t.TempDir())
	for _, path := range []string{"/", "/playground", "/healthz", "/readyz", "/api/openapi.json"} {
		for method, want := range map[string]int{"GET": 200, "HEAD": 200, "OPTIONS": 204, "POST": 405, "DELETE": 405} {
			req, err := http.NewRequest(method, r.base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s %s: got %d, want %d", method, path, resp.StatusCode, want)
			}
			if allow := resp.Header.Get("Allow"); want == 405 && allow != "GET, HEAD, OPTIONS" {
				t.Errorf("%s %s: Allow: %q", method, path, allow)
			}
		}
	}
}
