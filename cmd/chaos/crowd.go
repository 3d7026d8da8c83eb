package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// crowd is the load of a scenario: people who submit, each a lead of its own, beside
// others who read and who are still choosing.
type crowd struct {
	visitors *visitors
	patient  bool        // a lead is submitted again until it is acknowledged
	hurry    atomic.Bool // submissions come one after the other

	numbers  atomic.Int64
	mu       sync.Mutex
	acked    []*lead
	open     []*lead     // not acknowledged when the load ended, with some answer missing
	refused  []*lead     // answered with 503 and nothing else
	statuses map[int]int // answers to submissions; 0: none
	reads    map[int]int // answers to readers
	tracks   map[int]int // answers to those who choose

	cancel context.CancelFunc
	group  sync.WaitGroup
	err    error
}

func newCrowd(base string, patient bool) *crowd {
	return &crowd{visitors: newVisitors(base), patient: patient, statuses: map[int]int{}, reads: map[int]int{}, tracks: map[int]int{}}
}

// Size of the load: as much as leaves a small machine room for everything else.
const (
	submitters  = 6
	submitPause = 500 * time.Millisecond // of each of them
	hurryPause  = 30 * time.Millisecond
	bystanders  = 2 // of each kind
	lookPause   = 10 * time.Millisecond
)

// begin starts the load.
func (c *crowd) begin(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(ctx)
	for range submitters {
		c.group.Go(func() { c.submit(ctx) })
	}
	for range bystanders {
		c.group.Go(func() { c.look(ctx) })
		c.group.Go(func() { c.choose(ctx) })
	}
}

// end stops the load and waits until everybody has left.
func (c *crowd) end() error {
	c.cancel()
	c.group.Wait()
	return c.err
}

// submit submits one lead after the other.
func (c *crowd) submit(ctx context.Context) {
	for ctx.Err() == nil {
		l, err := newLead(int(c.numbers.Add(1)))
		if err == nil {
			err = c.bring(ctx, l)
		}
		if err != nil {
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
			return
		}
		wait := submitPause
		if c.hurry.Load() {
			wait = hurryPause
		}
		pause(ctx, wait)
	}
}

// bring submits one lead and notes what became of it. Its error is an answer that
// nobody may ever get.
func (c *crowd) bring(ctx context.Context, l *lead) error {
	doubt := false
	for {
		// A request that is under way when the load ends is still answered.
		id, status, err := c.visitors.attempt(context.WithoutCancel(ctx), l)
		if err != nil {
			return err
		}
		doubt = doubt || status != http.StatusOK && status != http.StatusServiceUnavailable
		c.mu.Lock()
		c.statuses[status]++
		switch {
		case id != "":
			l.id = id
			c.acked = append(c.acked, l)
		case c.patient && ctx.Err() == nil:
			c.mu.Unlock()
			pause(ctx, c.visitors.again)
			continue
		case doubt:
			c.open = append(c.open, l)
		default:
			c.refused = append(c.refused, l)
		}
		c.mu.Unlock()
		return nil
	}
}

const readQuery = `{"query":"{ SiteSettings(id: \"siteSettings\") { contactEmail } content(documentType: \"heroSection\", locale: es) { id } }"}`

func (c *crowd) look(ctx context.Context) {
	for ctx.Err() == nil {
		status, body := c.post(ctx, "/graphql", readQuery)
		if status == http.StatusOK && !strings.Contains(body, `"heroSection-es"`) {
			status = -1 // an answer without the content
		}
		c.count(ctx, c.reads, status)
		pause(ctx, lookPause)
	}
}

func (c *crowd) choose(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		status, _ := c.post(ctx, "/api/quote/track", fmt.Sprintf(`{"sessionId":"choosing-%d","selections":{"projectType":"web-app"}}`, n%500))
		c.count(ctx, c.tracks, status)
		pause(ctx, lookPause)
	}
}

func (c *crowd) count(ctx context.Context, in map[int]int, status int) {
	if ctx.Err() != nil {
		return // cut off by ourselves
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	in[status]++
}

// post sends a request and returns its status, 0 if there was none.
func (c *crowd) post(ctx context.Context, path, body string) (status int, answer string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.visitors.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, ""
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.visitors.client.Do(req)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(data)
}

// settle submits what was not acknowledged again, until it is.
func (c *crowd) settle(ctx context.Context) error {
	again := append(c.refused, c.open...)
	c.refused, c.open = nil, nil
	for _, l := range again {
		id, err := c.visitors.insist(ctx, l)
		if err != nil {
			return err
		}
		l.id = id
		c.acked = append(c.acked, l)
	}
	return nil
}

// soFar returns what is acknowledged at this moment.
func (c *crowd) soFar() []*lead {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*lead(nil), c.acked...)
}

// unless returns how many answers of a kind were not what was wanted.
func unless(answers map[int]int, want ...int) int {
	n := 0
	for status, times := range answers {
		n += times
		for _, w := range want {
			if status == w {
				n -= times
			}
		}
	}
	return n
}

// pause waits, or not if ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
