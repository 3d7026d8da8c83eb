package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
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

// follower subscribes to leadEvents and reconnects after a break, as a page does.
type follower struct {
	T       *testing.T
	Base    string
	Headers []string
	Client  *http.Client // apptest.HTTP if nil

	// Page is called after each event, if it is set.
	Page func(event leadEvent)

	mu       sync.Mutex
	position string
	restarts int
	breaks   int
	seen     map[string]bool // "<id> <kind>"
}

// Start subscribes until the end of the test, and waits for the first event.
func (f *follower) Start() {
	f.T.Helper()
	f.seen = map[string]bool{}
	ctx, cancel := context.WithCancel(f.T.Context())
	var following sync.WaitGroup
	f.T.Cleanup(func() { cancel(); following.Wait() })
	following.Go(func() {
		for ctx.Err() == nil {
			f.read(ctx)
			time.Sleep(50 * time.Millisecond)
		}
	})
	apptest.Eventually(f.T, "the stream begins", func() bool { return f.At() != "" })
}

// read reads one stream to its end.
func (f *follower) read(ctx context.Context) {
	after := "null"
	if position := f.At(); position != "" {
		after = strconv.Quote(position)
	}
	resp, err := openStreamBy(ctx, cmp.Or(f.Client, apptest.HTTP), f.Base, after, f.Headers...)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != 200 {
		return
	}

	for event, err := range sse.Read(resp.Body, nil) {
		if err != nil || event.Data == "" {
			continue
		}
		var response struct {
			Data struct{ LeadEvents leadEvent }
		}
		if err := json.Unmarshal([]byte(event.Data), &response); err != nil {
			f.T.Errorf("event %s: %v", event.Data, err)
		}
		f.take(response.Data.LeadEvents)
	}
	f.mu.Lock()
	f.breaks++
	f.mu.Unlock()
}

func (f *follower) take(e leadEvent) {
	f.mu.Lock()
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
	f.mu.Unlock()

	if f.Page != nil {
		f.Page(e)
	}
}

// Ends returns how often the stream restarted from the current state, and how often it
// broke off.
func (f *follower) Ends() (restarts, breaks int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.restarts, f.breaks
}

// At returns the position of the last event.
func (f *follower) At() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.position
}

// Within waits for a change and returns how long that took.
func (f *follower) Within(most time.Duration, id, kind string) time.Duration {
	f.T.Helper()
	began := time.Now()
	apptest.Eventually(f.T, "the event "+kind+" arrives", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.seen[id+" "+kind]
	})
	took := time.Since(began)
	if took > most {
		f.T.Errorf("%s arrived after %v, want at most %v", kind, took, most)
	}
	return took
}

// openStreamBy requests leadEvents with a client. after is a position, encoded as JSON.
func openStreamBy(
	ctx context.Context, client *http.Client, address, after string, headers ...string,
) (*http.Response, error) {
	headers = append([]string{"Accept: text/event-stream"}, headers...)
	return apptest.Send(ctx, client, "POST", address, fmt.Sprintf(followLeads, after), headers...)
}
