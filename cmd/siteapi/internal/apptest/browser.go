package apptest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Browser is a client of the inbox with the cookie of its login.
type Browser struct {
	T      *testing.T
	Base   string
	Cookie *http.Cookie
}

// Send sends a request with the cookie of the browser, and returns the response
// and its JSON.
func (b *Browser) Send(method, path, body string, headers ...string) (*http.Response, map[string]any) {
	b.T.Helper()
	req, err := http.NewRequestWithContext(b.T.Context(), method, b.Base+path, strings.NewReader(body))
	if err != nil {
		b.T.Fatal(err)
	}

	req.Header.Set("Content-Type", "application/json")
	if b.Cookie != nil {
		req.AddCookie(b.Cookie)
	}

	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.T.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()

	data, _ := io.ReadAll(resp.Body)
	answer := map[string]any{}
	_ = json.Unmarshal(data, &answer) // a page is not JSON
	return resp, answer
}

// Want fails unless a code is the expected one.
func (b *Browser) Want(what, got, want string) {
	b.T.Helper()
	if got != want {
		b.T.Errorf("%s: %s, want %s", what, got, want)
	}
}
