package app

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/schema"
)

const followLeads = `{"query":"subscription($after: String) { leadEvents(after: $after) ` +
	`{ position restarted changes { reference id kind } } }","variables":{"after":%s}}`

// leadEvent is an event of leadEvents.
type leadEvent struct {
	Position  string
	Restarted bool
	Changes   []leadChange
}

type leadChange struct{ Reference, ID, Kind string }

// follower follows leadEvents as a page does: after a break it connects again.
type follower struct {
	t       *testing.T
	headers []string
	client  *http.Client // nil: the usual one

	mu       sync.Mutex
	base     string
	position string
	restarts int
	breaks   int
	seen     map[string]bool // "<id> <kind>"

	// page is called after each event, if it is set.
	page func(event leadEvent)
}

// follow follows leadEvents at an address until the end of the test. It returns when the
// first event has come.
func follow(t *testing.T, base string, headers ...string) *follower {
	t.Helper()
	f := &follower{t: t, base: base, headers: headers}
	f.start()
	return f
}

// start begins to follow.
func (f *follower) start() {
	t := f.t
	t.Helper()
	f.seen = map[string]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			f.read(ctx)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	eventually(t, "the stream begins", func() bool { return f.at() != "" })
}

// read reads one stream to its end.
func (f *follower) read(ctx context.Context) {
	f.mu.Lock()
	base, after := f.base, "null"
	if f.position != "" {
		after = strconv.Quote(f.position)
	}
	f.mu.Unlock()

	resp, err := openStreamBy(ctx, cmp.Or(f.client, http.DefaultClient), base, after, f.headers...)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return
	}

	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var answer struct {
			Data struct{ LeadEvents leadEvent }
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			f.t.Errorf("event %s: %v", text, err)
		}
		f.take(answer.Data.LeadEvents)
		if f.page != nil {
			f.page(answer.Data.LeadEvents)
		}
	}
	f.mu.Lock()
	f.breaks++
	f.mu.Unlock()
}

func (f *follower) take(e leadEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Restarted && f.position != "" {
		f.restarts++
	}
	f.position = e.Position
	for _, c := range e.Changes {
		f.seen[c.ID+" "+c.Kind] = true
		if c.Reference != lead.Reference(c.ID) {
			f.t.Errorf("reference %s of %s", c.Reference, c.ID)
		}
	}
}

// ends returns how often the stream had to begin with the present state, and how often it
// ended, as far as it has been read.
func (f *follower) ends() (restarts, breaks int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.restarts, f.breaks
}

func (f *follower) at() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.position
}

func (f *follower) saw(id, kind string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[id+" "+kind]
}

// within waits for a change and returns how long that took.
func (f *follower) within(most time.Duration, id, kind string) time.Duration {
	f.t.Helper()
	began := time.Now()
	eventually(f.t, kind+" is told", func() bool { return f.saw(id, kind) })
	took := time.Since(began)
	if took > most {
		f.t.Errorf("%s was told after %v, want %v at most", kind, took, most)
	}
	return took
}

// openStream asks for leadEvents after a position, which is JSON.
func openStream(ctx context.Context, base, after string, headers ...string) (*http.Response, error) {
	return openStreamBy(ctx, http.DefaultClient, base, after, headers...)
}

// openStreamBy does so with a client.
func openStreamBy(
	ctx context.Context, client *http.Client, base, after string, headers ...string,
) (*http.Response, error) {
	body := fmt.Sprintf(followLeads, after)
	req, err := http.NewRequestWithContext(ctx, "POST", base, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	return client.Do(req)
}

// liveEnv opens the operators' fields on the public address.
func liveEnv(more ...string) []string {
	return append([]string{"ADMIN_PAGE=on", "ADMIN_API_TOKEN=operators"}, more...)
}

const operatorAuth = "Authorization: Bearer operators"

// submits submits a lead and returns its id.
func (r *running) submits(session string) string {
	r.t.Helper()
	status, answer := r.post("/api/quote/submit", newLead(session))
	id, _ := answer["submissionId"].(string)
	if status != 200 || id == "" {
		r.t.Fatalf("submitting %s: %d %v", session, status, answer)
	}
	return id
}

// operate runs an operator's operation.
func (r *running) operate(document string) {
	r.t.Helper()
	got := (&service{t: r.t, base: r.base}).query(document, nil, operatorAuth)
	if got.status != 200 || bytes.Contains(got.body, []byte("errors")) {
		r.t.Fatalf("%s: %d %s", document, got.status, got.body)
	}
}

// TestLive tells of what happens to a lead, also by a command in another process.
func TestLive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := launch(t, dir, liveEnv()...)
	f := follow(t, r.base+"/graphql", operatorAuth)

	id := r.submits("first")
	f.within(time.Second, id, "CREATED")
	f.within(5*time.Second, id, "CHANGED") // delivered

	suspicious := newLead("second")
	suspicious["website"] = "https://spam.example"
	_, answer := r.post("/api/quote/submit", suspicious)
	held, _ := answer["submissionId"].(string)
	f.within(time.Second, held, "CREATED")
	r.operate(`mutation { rejectLead(id: "` + held + `") { state } }`)
	f.within(time.Second, held, "CHANGED")

	third := newLead("third")
	third["website"] = "https://spam.example"
	_, answer = r.post("/api/quote/submit", third)
	other, _ := answer["submissionId"].(string)
	f.within(time.Second, other, "CREATED")
	if out, code := command(t, []string{"ENVIRONMENT=development", "DATA_DIR=" + dir},
		"leads", "release", other); code != 0 {
		t.Fatal(out)
	}
	f.within(1500*time.Millisecond, other, "CHANGED")

	r.operate(`mutation { eraseLeads(email: "first@example.com", dryRun: false) { complete } }`)
	f.within(time.Second, id, "ERASED")
	if restarts, breaks := f.ends(); restarts > 0 || breaks > 0 {
		t.Errorf("%d restarts, %d breaks", restarts, breaks)
	}
}

// TestLiveInstances tells at one instance what another one changes.
func TestLiveInstances(t *testing.T) {
	t.Parallel()
	address := pgserver.Start(t).NewDatabase(t)
	a := launch(t, t.TempDir(), liveEnv("DATABASE_URL="+address)...)
	b := launch(t, t.TempDir(), liveEnv("DATABASE_URL="+address)...)
	here, there := follow(t, a.base+"/graphql", operatorAuth), follow(t, b.base+"/graphql", operatorAuth)

	var slowest time.Duration
	for i := range 10 {
		id := a.submits(fmt.Sprint("live-", i))
		slowest = max(slowest, there.within(time.Second, id, "CREATED"))
		here.within(time.Second, id, "CREATED")
	}
	t.Logf("told after %v at worst", slowest)
}

// A position that is not known, such as one of a database that was replaced, restarts.
func TestLiveRestarts(t *testing.T) {
	t.Parallel()
	r := launch(t, t.TempDir(), liveEnv()...)
	f := follow(t, r.base+"/graphql", operatorAuth)
	f.within(time.Second, r.submits("one"), "CREATED")
	position := f.at()

	first := func(after string) (e leadEvent) {
		t.Helper()
		resp, err := openStream(t.Context(), r.base+"/graphql", after, operatorAuth)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" ||
			resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}

		reader := bufio.NewReader(resp.Body)
		name, _ := reader.ReadString('\n')
		data, _ := reader.ReadString('\n')
		var answer struct {
			Data struct{ LeadEvents leadEvent }
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &answer); err != nil ||
			name != "event: next\n" {
			t.Errorf("%s%s: %v", name, data, err)
		}
		return answer.Data.LeadEvents
	}
	if e := first(strconv.Quote(position)); e.Restarted || e.Position == "" {
		t.Errorf("after %s: %+v", position, e)
	}
	seq, _, _ := strings.Cut(position, ".")
	for _, after := range []string{"null", `""`, `"nonsense"`, `"999999.1"`, `"` + seq + `.1"`, `"-1"`} {
		if e := first(after); !e.Restarted || len(e.Changes) > 0 {
			t.Errorf("after %s: %+v", after, e)
		}
	}
}

// TestLiveRoles refuses streams before they begin, with the status of the error. A viewer gets
// no ids.
func TestLiveRoles(t *testing.T) {
	t.Parallel()
	s := startService(t, map[string]string{"ADMIN_PAGE": "on", "ADMIN_API_TOKEN": "operators"})
	s.submits("one")

	for name, test := range map[string]struct {
		accept, auth string
		status       int
	}{
		"no token":      {"text/event-stream", "Authorization: ", 401},
		"another token": {"text/event-stream", cacheAuth, 401},
		"no stream":     {"application/json", operatorAuth, 406},
		"not wanted":    {"text/event-stream;q=0, application/json", operatorAuth, 406},
	} {
		resp, err := openStream(t.Context(), s.base+"/graphql", "null", "Accept: "+test.accept, test.auth)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != test.status {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, test.status)
		}
	}

	if got := s.do("GET", "/graphql?query=subscription%7BleadEvents%7Bposition%7D%7D", "",
		"Accept: text/event-stream", operatorAuth); got.status != 405 {
		t.Errorf("by GET: %d %s", got.status, got.body)
	}
	if got := s.do("POST", "/graphql", `{"query":"{ __typename }"}`, "Accept: text/event-stream"); got.status != 406 {
		t.Errorf("a query as a stream: %d %s", got.status, got.body)
	}

	for _, role := range schema.AllRole {
		first := s.streams(role)
		if change := first.Changes; len(change) == 0 || (change[0].ID == "") != (role == schema.RoleViewer) {
			t.Errorf("%s: %+v", role, first)
		}
	}
}

// streams returns the event after the submission of a lead, for an operator of a role.
func (s *service) streams(role schema.Role) leadEvent {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, "POST", "/admin/graphql",
		strings.NewReader(fmt.Sprintf(followLeads, "null")))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r = r.WithContext(schema.WithCaller(r.Context(), schema.Caller{
		Header:    r.Header,
		Operators: true,
		Operator:  schema.Operator{Actor: "someone", Role: role},
	}))

	read, write := io.Pipe()
	defer func() { _ = read.Close() }()
	go s.app.server.InboxGraphQL.ServeHTTP(pipeWriter{httptest.NewRecorder(), write}, r)
	for lines := bufio.NewScanner(read); lines.Scan(); {
		var answer struct {
			Data struct{ LeadEvents leadEvent }
		}
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(text), &answer) == nil {
			if !answer.Data.LeadEvents.Restarted {
				return answer.Data.LeadEvents
			}
			s.submits("for-" + strings.ToLower(string(role)))
		}
	}
	s.t.Fatal("the stream ended")
	return leadEvent{}
}

// pipeWriter is a response whose body can be read while it is written.
type pipeWriter struct {
	*httptest.ResponseRecorder
	body io.Writer
}

func (w pipeWriter) Write(p []byte) (int, error) { return w.body.Write(p) }
