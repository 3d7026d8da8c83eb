package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"siteapi/cmd/internal/harness"
)

// readQuery reads content through GraphQL.
const readQuery = `{"query":"{ SiteSettings(id: \"siteSettings\") { contactEmail } content(documentType: \"heroSection\") { id } }"}`

// visitors submit leads, each again with the same content until it is acknowledged,
// and read content meanwhile.
type visitors struct {
	service *harness.Service
	stop    context.CancelFunc
	group   sync.WaitGroup

	mu       sync.Mutex
	next     int
	pending  []int          // leads that were refused or not answered
	acked    map[string]int // lead by the id it was acknowledged with
	statuses map[int]int    // of submissions; 0: no answer
	reads    map[int]int    // of content
	wrong    error          // the first answer that no valid submission may get
}

func newVisitors(s *harness.Service) *visitors {
	return &visitors{service: s, acked: map[string]int{}, statuses: map[int]int{}, reads: map[int]int{}}
}

func email(lead int) string { return fmt.Sprintf("visitor-%05d@example.com", lead) }

// submission is the body of a lead, unlike any other.
func submission(lead int) string {
	return fmt.Sprintf(`{"sessionId":"chaos-%05d","locale":"%s","contact":{"firstName":"Visitor","lastName":"Ștefan-%05d","email":"%s"},
		"selections":{"projectType":"web-app","features":["blog","payments"]},"estimate":{"min":%d,"max":%d,"currency":"EUR"}}`,
		lead, []string{"en", "es", "ro"}[lead%3], lead, email(lead), 1000+lead, 2000+lead)
}

// begin lets 8 visitors submit and 2 read until end is called.
func (v *visitors) begin(ctx context.Context) {
	ctx, v.stop = context.WithCancel(ctx)
	for range 8 {
		v.group.Go(func() {
			for ctx.Err() == nil {
				v.submit(ctx, v.take())
				sleep(ctx, 20*time.Millisecond)
			}
		})
	}
	for range 2 {
		v.group.Go(func() {
			for ctx.Err() == nil {
				status, _, _ := harness.Do(ctx, http.MethodPost, v.service.Base+"/graphql", readQuery)
				if ctx.Err() == nil {
					v.count(v.reads, status)
				}
				sleep(ctx, 20*time.Millisecond)
			}
		})
	}
}

func (v *visitors) count(in map[int]int, status int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	in[status]++
}

// take returns the lead to submit next: one that was not acknowledged, else a new one.
func (v *visitors) take() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.pending); n > 0 {
		lead := v.pending[0]
		v.pending = v.pending[1:]
		return lead
	}
	v.next++
	return v.next
}

// submit sends a lead once and notes what came of it.
func (v *visitors) submit(ctx context.Context, lead int) {
	id, status, err := v.send(ctx, lead)
	v.mu.Lock()
	defer v.mu.Unlock()
	if ctx.Err() == nil { // not cut off by end
		v.statuses[status]++
	}
	switch {
	case status == http.StatusOK:
		v.acked[id] = lead
	case status != 0 && status != http.StatusServiceUnavailable && v.wrong == nil:
		v.wrong = err
		fallthrough
	default:
		v.pending = append(v.pending, lead)
	}
}

// send sends a lead once. The status is 0 where there was no whole answer.
func (v *visitors) send(ctx context.Context, lead int) (id string, status int, err error) {
	status, body, err := harness.Do(ctx, http.MethodPost, v.service.Base+"/api/quote/submit", submission(lead))
	if err != nil {
		return "", 0, err
	}
	var answer struct{ SubmissionID string }
	if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusOK {
		return "", status, fmt.Errorf("a submission was answered with %d %s", status, body)
	}
	return answer.SubmissionID, status, nil
}

// await waits until a status was given so many more times.
func (v *visitors) await(ctx context.Context, in map[int]int, status, more int) error {
	have := func() int {
		v.mu.Lock()
		defer v.mu.Unlock()
		return in[status]
	}
	for from, deadline := have(), time.Now().Add(time.Minute); have() < from+more; sleep(ctx, 5*time.Millisecond) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("waited in vain for answers with %d", status)
		}
	}
	return nil
}

// end stops the visitors, has every pending lead taken, and checks that each
// acknowledged one is there once: in the service, in the CMS and in the CRM.
func (v *visitors) end(ctx context.Context, u *harness.Upstreams, deliveredWithin time.Duration) error {
	v.stop()
	v.group.Wait()
	for deadline := time.Now().Add(time.Minute); len(v.pending) > 0 && time.Now().Before(deadline); sleep(ctx, 5*time.Millisecond) {
		v.submit(ctx, v.take())
	}
	if len(v.pending) > 0 || v.wrong != nil {
		return fmt.Errorf("%d leads were never taken: %w", len(v.pending), v.wrong)
	}
	submitted := map[string]string{}
	for id, lead := range v.acked {
		submitted[id] = email(lead)
		again, _, err := v.send(ctx, lead)
		if err != nil || again != id {
			return fmt.Errorf("lead %d was acknowledged as %s and is now %q: %w", lead, id, again, errors.Join(err))
		}
		if status, _, err := harness.Do(ctx, http.MethodGet, v.service.Base+"/api/quote/pdf?id="+id, ""); status != http.StatusOK {
			return fmt.Errorf("the PDF of %s is answered with %d: %w", id, status, errors.Join(err))
		}
	}
	var err error
	for deadline := time.Now().Add(deliveredWithin); ; sleep(ctx, 200*time.Millisecond) {
		if err = u.Check(submitted); err == nil || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
	}
}

// onlyStatuses fails if anything but the given statuses was answered.
func (v *visitors) onlyStatuses(in map[int]int, allowed ...int) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	rest := 0
	for status, n := range in {
		rest += n
		for _, ok := range allowed {
			if status == ok {
				rest -= n
			}
		}
	}
	if rest > 0 {
		return fmt.Errorf("answers other than %v: %v", allowed, in)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
