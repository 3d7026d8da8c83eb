package graphqlhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/schema"
)

// pausedEndpoint is an endpoint whose operations wait until they are released.
type pausedEndpoint struct {
	*site
	handler http.Handler
	records chan recorded
	asked   atomic.Int64 // number of reads of a revision; each request reads one before it runs or waits
	loaded  atomic.Bool  // whether content has a revision
	release chan struct{}
}

func newPausedEndpoint(t *testing.T, during func(n int64) error) *pausedEndpoint {
	t.Helper()
	e := &pausedEndpoint{release: make(chan struct{}), records: make(chan recorded, 100)}
	e.loaded.Store(true)

	s := newSetup(func(s *setup) {
		s.options.Revision = func(locale string) (string, bool) {
			e.asked.Add(1)
			name, ok := s.site.rev(locale)
			return name, ok && e.loaded.Load()
		}
		s.site.during = func(ctx context.Context) error {
			n := s.site.runs.Load()
			<-e.release
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return during(n)
		}
	})
	s.options.Load = func(context.Context, string) { e.loaded.Store(true) }
	e.site, e.handler = s.site, s.handler(t, e.records)
	return e
}

// succeeding lets every operation succeed.
func succeeding(int64) error { return nil }

// begin sends a request, waits until it has read a revision, and returns a function that
// waits for its response.
func (e *pausedEndpoint) begin(t *testing.T, ctx context.Context) func() string {
	t.Helper()
	asked := e.asked.Load()
	body := strings.NewReader(asQuery(t, phoneQuery))
	r := httptest.NewRequestWithContext(ctx, "POST", "/graphql", body)
	r.Header.Set("Content-Type", typeJSON)

	w, done := httptest.NewRecorder(), make(chan struct{})
	go func() { defer close(done); e.handler.ServeHTTP(w, r) }()
	wait(t, func() bool { return e.asked.Load() > asked })
	return func() string {
		<-done
		if w.Code != 200 {
			return fmt.Sprint(w.Code, " ", w.Body)
		}
		return w.Body.String()
	}
}

// wait waits until a condition holds, for at most a minute.
func wait(t *testing.T, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the requests have not arrived after a minute")
		}
	}
}

// Many concurrent readers that miss the cache cost one execution, even after an
// invalidation, when no content is loaded.
func TestConcurrentRequestsRunOnce(t *testing.T) {
	t.Parallel()
	e := newPausedEndpoint(t, succeeding)
	e.loaded.Store(false)

	var group sync.WaitGroup
	const readers = 20
	for range readers {
		response := e.begin(t, t.Context())
		group.Go(func() {
			if got := response(); got != phoneResponse("+1 555 0100") {
				t.Errorf("got %s", got)
			}
		})
	}
	wait(t, func() bool { return e.runs.Load() > 0 })
	close(e.release)
	group.Wait()

	if runs := e.runs.Load(); runs != 1 {
		t.Errorf("executed %d times, want once", runs)
	}
	for range readers { // each request is recorded
		if record := <-e.records; !record.Public || record.Code != "" {
			t.Errorf("recorded %+v", record)
		}
	}
}

// An execution that others wait for continues when its first client disconnects.
func TestFirstReaderDisconnects(t *testing.T) {
	t.Parallel()
	e := newPausedEndpoint(t, succeeding)
	ctx, leave := context.WithCancel(t.Context())
	first := e.begin(t, ctx)
	wait(t, func() bool { return e.runs.Load() == 1 })

	second := e.begin(t, t.Context())
	leave()
	close(e.release)

	if got := second(); got != phoneResponse("+1 555 0100") {
		t.Errorf("got %s", got)
	}
	first()
	if runs := e.runs.Load(); runs != 1 {
		t.Errorf("executed %d times, want once", runs)
	}
}

// An error is not shared.
func TestErrorsAreNotShared(t *testing.T) {
	t.Parallel()
	e := newPausedEndpoint(t, func(n int64) error {
		if n == 1 {
			return &schema.Error{Code: schema.CodeUpstreamUnavailable, Message: "Unavailable."}
		}
		return nil
	})

	first := e.begin(t, t.Context())
	wait(t, func() bool { return e.runs.Load() == 1 })
	second := e.begin(t, t.Context())
	close(e.release)

	if got := first(); !strings.Contains(got, "errors") {
		t.Errorf("the first got %s", got)
	}
	if got := second(); got != phoneResponse("+1 555 0100") {
		t.Errorf("the second got %s", got)
	}
}

// A request after a publication does not share the response of an earlier one.
func TestNewContentIsNotSharedWithOld(t *testing.T) {
	t.Parallel()
	e := newPausedEndpoint(t, succeeding)
	first := e.begin(t, t.Context())
	wait(t, func() bool { return e.runs.Load() == 1 })

	e.set("new")
	second := e.begin(t, t.Context())
	wait(t, func() bool { return e.runs.Load() == 2 })
	close(e.release)

	if got := second(); got != phoneResponse("new") {
		t.Errorf("got %s", got)
	}
	if got := first(); got != phoneResponse("+1 555 0100") {
		t.Errorf("the first got %s", got)
	}
}
