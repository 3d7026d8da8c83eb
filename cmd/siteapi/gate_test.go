package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/pdf"
	"siteapi/schema"
)

func TestGate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, path string
		body               io.Reader
		most               int64 // that get in
		class              class
	}{
		{"GraphQL", "POST", "/graphql", strings.NewReader("{}"), 40, classGraphQL},
		{"REST", "POST", "/api/quote/track", strings.NewReader("{}"), 40, classREST},
		{"unknown", "GET", "/none", nil, 40, classREST},
		{"large", "POST", "/graphql", strings.NewReader(strings.Repeat("x", largeBody+1)), mostLarge, classLarge},
		{"of unknown size", "POST", "/api/quote/track", io.MultiReader(strings.NewReader("{}")), mostLarge, classLarge},
		{"probe", "GET", "/healthz", nil, 100, classes},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			let, inside := make(chan struct{}), atomic.Int64{}
			var shed [classes + 1]atomic.Int64
			g := &gate{most: 40, shed: func(c class) { shed[c].Add(1) }, next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				inside.Add(1)
				<-let
			})}
			var wg sync.WaitGroup
			var refused atomic.Int64
			for range 100 {
				wg.Go(func() {
					w := &visit{recorder: recorder{ResponseWriter: httptest.NewRecorder()}}
					g.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, tt.body))
					if !w.shed {
						return
					}
					refused.Add(1)
					h := w.Header()
					if w.status != 503 && !(tt.path == graphqlPath && w.status == 200) || h.Get("Retry-After") != "1" {
						t.Errorf("refused with %d %v", w.status, h)
					}
				})
			}
			want := 100 - tt.most
			eventually(t, "the others are refused", func() bool { return refused.Load() == want && inside.Load() == tt.most })
			if got := shed[tt.class].Load(); got != want {
				t.Errorf("%d were counted as refused, want %d", got, want)
			}
			close(let)
			wg.Wait()
			for c := range classes {
				if n := g.number(c); n != 0 {
					t.Errorf("%d of %v are left inside", n, c)
				}
			}
		})
	}
}

// A panic gives the place back.
func TestGatePanic(t *testing.T) {
	t.Parallel()
	g := &gate{most: 1, next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })}
	for range 3 {
		func() {
			defer func() { _ = recover() }()
			g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		}()
	}
	if n := g.number(classREST); n != 0 {
		t.Errorf("%d are inside", n)
	}
}

// slowRenderer draws when it is let.
type slowRenderer struct {
	let    chan struct{}
	inside atomic.Int64
	most   atomic.Int64
}

func (r *slowRenderer) Render(context.Context, pdf.Document) ([]byte, error) {
	n := r.inside.Add(1)
	defer r.inside.Add(-1)
	for most := r.most.Load(); n > most && !r.most.CompareAndSwap(most, n); most = r.most.Load() {
	}
	<-r.let
	return []byte("pdf"), nil
}

func TestBoundedRenderer(t *testing.T) {
	t.Parallel()
	isBusy := func(err error) bool {
		e, ok := errors.AsType[*schema.Error](err)
		return ok && e.Code == schema.CodeUpstreamUnavailable && e.RetryAfter > 0
	}
	slow := &slowRenderer{let: make(chan struct{})}
	b := newBoundedRenderer(slow, 3)
	b.wait = 300 * time.Millisecond
	type result struct {
		err  error
		took time.Duration
	}
	results := make(chan result, 3+3*renderQueue+20)
	began := time.Now()
	for range cap(results) {
		go func() {
			_, err := b.Render(t.Context(), pdf.Document{})
			results <- result{err, time.Since(began)}
		}()
	}
	for i := range cap(results) - 3 {
		r := <-results
		if !isBusy(r.err) {
			t.Errorf("one too many gets %v", r.err)
		}
		if soon := r.took < 250*time.Millisecond; soon != (i < 20) {
			t.Errorf("number %d was refused after %v", i, r.took)
		}
	}
	close(slow.let)
	for range 3 {
		if r := <-results; r.err != nil {
			t.Error(r.err)
		}
	}
	if slow.most.Load() != 3 {
		t.Errorf("%d were drawn at a time, want 3", slow.most.Load())
	}
	if _, err := b.Render(t.Context(), pdf.Document{}); err != nil || b.waiting.Load() != 0 {
		t.Errorf("afterwards: %v, %d wait", err, b.waiting.Load())
	}
	// Who goes away while waiting is told so.
	for range 3 {
		b.turns <- struct{}{}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Render(gone, pdf.Document{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that is gone: %v", err)
	}
}

// What a browser may open by its address can do nothing there; only the playground can.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	in := s.through("REST", "submitQuote", object{"input": validSubmission("headers")})
	for path, policy := range map[string]string{
		"/api/cache/clear": noDocument[0], "/api/openapi.json": noDocument[0], "/nowhere": noDocument[0],
		playgroundPath: "",
	} {
		h := s.do("GET", path, "").header
		got := h.Get("Content-Security-Policy")
		if policy != "" && got != policy || policy == "" && !strings.Contains(got, "frame-ancestors 'none'") {
			t.Errorf("%s has the policy %q", path, got)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s lacks headers: %v", path, h)
		}
	}
	if h := s.do("GET", in.data["pdfUrl"].(string), "").header; !strings.HasPrefix(h.Get("Content-Disposition"), "attachment;") {
		t.Errorf("a document is opened rather than saved: %v", h)
	}
}
