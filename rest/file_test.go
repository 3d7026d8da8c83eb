package rest

import (
	"strings"
	"sync/atomic"
	"testing"
)

// A download that stands is sent again without running anything, whatever is asked of
// it, and run anew as soon as it does not stand.
func TestDownloadsThatStand(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)
	var stands atomic.Bool
	stands.Store(true)
	stub.stands = stands.Load
	const path = "/api/quote/pdf?id=abc"
	first := send(t, srv, "GET", path, "")
	steps := []struct {
		name, method, path string
		header             []string
		status, runs       int
		before             func()
	}{
		{"the same again", "GET", path, nil, 200, 1, nil},
		{"its header", "HEAD", path, nil, 200, 1, nil},
		{"for a client that has it", "GET", path, []string{"If-None-Match", `"v1"`}, 304, 1, nil},
		{"another language preferred", "GET", path, []string{"Accept-Language", "ro"}, 200, 2, nil},
		{"the same preference again", "GET", path, []string{"Accept-Language", "ro"}, 200, 2, nil},
		{"another language asked for", "GET", path + "&locale=ro", nil, 200, 3, nil},
		{"another id", "GET", "/api/quote/pdf?id=abd", nil, 200, 4, nil},
		{"a query too long to be kept", "GET", path + "&x=" + strings.Repeat("y", longestName), nil, 200, 5, nil},
		{"that query again", "GET", path + "&x=" + strings.Repeat("y", longestName), nil, 200, 6, nil},
		{"what stands no more", "GET", path, nil, 200, 7, func() { stands.Store(false) }},
		{"what never stood", "GET", path, nil, 200, 8, nil},
		{"the new one", "GET", path, nil, 200, 8, func() { stands.Store(true) }},
	}
	for _, step := range steps {
		if step.before != nil {
			step.before()
		}
		got := send(t, srv, step.method, step.path, "", step.header...)
		if got.status != step.status || stub.ran() != step.runs {
			t.Errorf("%s: got %d after %d runs, want %d after %d", step.name, got.status, stub.ran(), step.status, step.runs)
		}
		if step.method == "GET" && step.status == 200 && got.body != first.body {
			t.Errorf("%s: another file", step.name)
		}
		for name := range first.header {
			if step.status == 200 && name != "Date" && got.header.Get(name) != first.header.Get(name) {
				t.Errorf("%s: %s is %q, was %q", step.name, name, got.header.Get(name), first.header.Get(name))
			}
		}
	}
}

func TestDownloadsThatNobodyVouchesFor(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)
	for range 3 {
		send(t, srv, "GET", "/api/quote/pdf?id=abc", "")
	}
	if n := stub.ran(); n != 3 {
		t.Errorf("3 requests ran %d times", n)
	}
}
