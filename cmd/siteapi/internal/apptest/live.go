package apptest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/lead"
)

const FollowLeads = `{"query":"subscription($after: String) { leadEvents(after: $after) ` +
	`{ position restarted changes { reference id kind } } }","variables":{"after":%s}}`

// LeadEvent is an event of leadEvents.
type LeadEvent struct {
	Position  string
	Restarted bool
	Changes   []leadChange
}

type leadChange struct{ Reference, ID, Kind string }

// Follower follows leadEvents as a page does: after a break it connects again.
type Follower struct {
	T       *testing.T
	Headers []string
	Client  *http.Client // nil: the usual one

	mu       sync.Mutex
	Base     string
	position string
	restarts int
	breaks   int
	seen     map[string]bool // "<id> <kind>"

	// page is called after each event, if it is set.
	Page func(event LeadEvent)
}

// Start begins to follow.
func (f *Follower) Start() {
	t := f.T
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
	Eventually(t, "the stream begins", func() bool { return f.At() != "" })
}

// read reads one stream to its end.
func (f *Follower) read(ctx context.Context) {
	f.mu.Lock()
	base, after := f.Base, "null"
	if f.position != "" {
		after = strconv.Quote(f.position)
	}
	f.mu.Unlock()

	resp, err := OpenStreamBy(ctx, cmp.Or(f.Client, http.DefaultClient), base, after, f.Headers...)
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
			Data struct{ LeadEvents LeadEvent }
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			f.T.Errorf("event %s: %v", text, err)
		}
		f.take(answer.Data.LeadEvents)
		if f.Page != nil {
			f.Page(answer.Data.LeadEvents)
		}
	}
	f.mu.Lock()
	f.breaks++
	f.mu.Unlock()
}

func (f *Follower) take(e LeadEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Restarted && f.position != "" {
		f.restarts++
	}
	f.position = e.Position
	for _, c := range e.Changes {
		f.seen[c.ID+" "+c.Kind] = true
		if c.Reference != lead.Reference(c.ID) {
			f.T.Errorf("reference %s of %s", c.Reference, c.ID)
		}
	}
}

// Ends returns how often the stream had to begin with the present state, and how often it
// ended, as far as it has been read.
func (f *Follower) Ends() (restarts, breaks int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.restarts, f.breaks
}

// At returns the address of a path.
func (f *Follower) At() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.position
}

func (f *Follower) saw(id, kind string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[id+" "+kind]
}

// Within waits for a change and returns how long that took.
func (f *Follower) Within(most time.Duration, id, kind string) time.Duration {
	f.T.Helper()
	began := time.Now()
	Eventually(f.T, kind+" is told", func() bool { return f.saw(id, kind) })
	took := time.Since(began)
	if took > most {
		f.T.Errorf("%s was told after %v, want %v at most", kind, took, most)
	}
	return took
}

// OpenStreamBy does so with a client.
func OpenStreamBy(
	ctx context.Context, client *http.Client, base, after string, headers ...string,
) (*http.Response, error) {
	body := fmt.Sprintf(FollowLeads, after)
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

// LiveEnv opens the operators' fields on the public address.
func LiveEnv(more ...string) []string {
	return append([]string{"ADMIN_PAGE=on", "ADMIN_API_TOKEN=operators"}, more...)
}

const OperatorAuth = "Authorization: Bearer operators"

// Submits submits a lead and returns its id.
func (r *Process) Submits(session string) string {
	r.T.Helper()
	status, answer := r.Post("/api/quote/submit", NewLead(session))
	id, _ := answer["submissionId"].(string)
	if status != 200 || id == "" {
		r.T.Fatalf("submitting %s: %d %v", session, status, answer)
	}
	return id
}

// Operate runs an operator's operation.
func (r *Process) Operate(document string) {
	r.T.Helper()
	got := (&Service{T: r.T, Base: r.Base}).Query(document, nil, OperatorAuth)
	if got.Status != 200 || bytes.Contains(got.Body, []byte("errors")) {
		r.T.Fatalf("%s: %d %s", document, got.Status, got.Body)
	}
}
