package graphqlhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/resolvers/executor"
	"siteapi/resolvers/graphqlhttp"
	"siteapi/schema"
	"siteapi/schema/exec"
)

// endpoint is the endpoint of a site whose content is one telephone number. Its operations
// wait until they are released.
type endpoint struct {
	exec.QueryResolver // of the fields that no test reads

	handler http.Handler
	phone   atomic.Pointer[string]   // also the revision of the content
	loaded  atomic.Bool              // whether the content has a revision
	asked   atomic.Int64             // number of reads of a revision; each request reads one before it runs or waits
	runs    atomic.Int64             // number of executions
	during  func(number int64) error // called at the end of each execution
	release chan struct{}
}

// roots are the resolvers of the schema.
type roots struct {
	exec.ResolverRoot
	queries exec.QueryResolver
}

func (r roots) Query() exec.QueryResolver { return r.queries }

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{release: make(chan struct{}), during: func(int64) error { return nil }}
	e.phone.Store(new("old"))
	e.loaded.Store(true)

	docs, err := graphqlhttp.NewDocuments(graphqlhttp.DocumentOptions{})
	must(t, err)
	e.handler = graphqlhttp.New(graphqlhttp.Options{
		Documents: docs,
		Executor: executor.New(executor.Options{
			Resolvers:   roots{queries: e},
			Log:         zerolog.Nop(),
			ContentSize: func() int { return 0 },
			Documents:   docs,
		}),
		Load: func(context.Context, string) { e.loaded.Store(true) },
		Revision: func(string) (string, bool) {
			e.asked.Add(1)
			return *e.phone.Load(), e.loaded.Load()
		},
	})
	return e
}

func (e *endpoint) SiteSettings(ctx context.Context, _ string, _ *schema.Locale) (*schema.SiteSettings, error) {
	number, found := e.runs.Add(1), e.phone.Load()
	select {
	case <-e.release:
		return &schema.SiteSettings{ContactPhone: found}, e.during(number)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin sends a request, waits until it has read a revision, and returns a function that
// waits for its response.
func (e *endpoint) begin(t *testing.T, ctx context.Context) func() string {
	t.Helper()
	asked := e.asked.Load()
	body := strings.NewReader(`{"query":"{ SiteSettings(id: \"siteSettings\") { contactPhone } }"}`)
	r := httptest.NewRequestWithContext(ctx, "POST", "/graphql", body)
	r.Header.Set("Content-Type", "application/json")

	w, done := httptest.NewRecorder(), make(chan struct{})
	go func() { defer close(done); e.handler.ServeHTTP(w, r) }()
	wait(t, func() bool { return e.asked.Load() > asked })
	return func() string {
		<-done
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

// shows checks that a response has a telephone number.
func shows(t *testing.T, response func() string, phone string) {
	t.Helper()
	if got := response(); got != `{"data":{"SiteSettings":{"contactPhone":"`+phone+`"}}}` {
		t.Errorf("got %s, want %s", got, phone)
	}
}

// Many concurrent readers that miss the cache cost one execution, even after an
// invalidation, when no content is loaded.
func TestConcurrentRequestsRunOnce(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.loaded.Store(false)

	var group sync.WaitGroup
	for range 20 {
		response := e.begin(t, t.Context())
		group.Go(func() { shows(t, response, "old") })
	}
	wait(t, func() bool { return e.runs.Load() > 0 })
	close(e.release)
	group.Wait()

	if runs := e.runs.Load(); runs != 1 {
		t.Errorf("executed %d times, want once", runs)
	}
}

// An execution that others wait for continues when its first client disconnects.
func TestFirstReaderDisconnects(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	ctx, leave := context.WithCancel(t.Context())
	first := e.begin(t, ctx)
	wait(t, func() bool { return e.runs.Load() == 1 })

	second := e.begin(t, t.Context())
	leave()
	time.Sleep(10 * time.Millisecond) // in which the execution would end
	close(e.release)

	shows(t, second, "old")
	first()
	if runs := e.runs.Load(); runs != 1 {
		t.Errorf("executed %d times, want once", runs)
	}
}

// An error is neither shared nor stored.
func TestErrorsAreNotShared(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.during = func(number int64) error {
		if number == 1 {
			return &schema.Error{Code: schema.CodeUpstreamUnavailable, Message: "Unavailable."}
		}
		return nil
	}

	first := e.begin(t, t.Context())
	wait(t, func() bool { return e.runs.Load() == 1 })
	second := e.begin(t, t.Context())
	close(e.release)

	if got := first(); !strings.HasPrefix(got, `{"data":{"SiteSettings":null},"errors":[{"message":"Unavailable."`) {
		t.Errorf("the first got %s", got)
	}
	shows(t, second, "old")
}

// A request after a publication does not share the response of an earlier one.
func TestNewContentIsNotSharedWithOld(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	first := e.begin(t, t.Context())
	wait(t, func() bool { return e.runs.Load() == 1 })

	e.phone.Store(new("new"))
	second := e.begin(t, t.Context())
	wait(t, func() bool { return e.runs.Load() == 2 })
	close(e.release)

	shows(t, second, "new")
	shows(t, first, "old")
}

// A response that is built while the content changes is not used later.
func TestChangeWhileTheOperationRuns(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.during = func(int64) error { e.phone.Store(new("new")); return nil }
	close(e.release)

	shows(t, e.begin(t, t.Context()), "old")
	for range 3 {
		shows(t, e.begin(t, t.Context()), "new")
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if got := newEndpoint(t).begin(t, ctx)(); !strings.Contains(got, `"UPSTREAM_UNAVAILABLE"`) {
		t.Errorf("got %s", got)
	}
}
