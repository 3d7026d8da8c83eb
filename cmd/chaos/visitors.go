package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"siteapi/cmd/internal/harness"
)

// readQuery reads content through GraphQL.
const readQuery = `{"query":"{ SiteSettings(id: \"siteSettings\") { contactEmail } ` +
	`content(documentType: \"heroSection\") { id } }"}`

// visitors submit leads and read content. They repeat each lead until it is acknowledged.
type visitors struct {
	service *harness.Service
	stop    context.CancelFunc
	group   sync.WaitGroup

	mu       sync.Mutex
	begun    int            // number of started leads
	acked    map[string]int // acknowledged leads by lead id
	statuses map[int]int    // responses to leads by status; 0: none
	reads    map[int]int    // responses to reads by status
}

// email returns an address that accepts mails, unlike those of example.com.
func email(lead int) string { return fmt.Sprintf("visitor-%05d@lumen-visitors.org", lead) }

// leadBody returns the unique body of a lead.
func leadBody(lead int) string {
	return fmt.Sprintf(`{"sessionId":"chaos-%05d","locale":"%s",
		"contact":{"firstName":"Visitor","lastName":"Ștefan-%05d","email":"%s"},`+
		`"selections":{"projectType":"shop"},
		"estimate":{"min":%d,"max":%d,"currency":"EUR"}}`,
		lead, harness.Locale(lead), lead, email(lead), 1000+lead, 2000+lead)
}

// newVisitors starts 8 visitors who submit at most 40 leads per second, and 2 who read. A
// visitor repeats a refused lead for at most a minute.
func newVisitors(ctx context.Context, s *harness.Service) *visitors {
	v := &visitors{service: s, acked: map[string]int{}, statuses: map[int]int{}, reads: map[int]int{}}
	running, stop := context.WithCancel(ctx)
	v.stop = stop

	for range 8 {
		v.group.Go(func() {
			for ; running.Err() == nil; sleep(running, 200*time.Millisecond) {
				v.mu.Lock()
				v.begun++
				lead := v.begun
				v.mu.Unlock()

				for begun := time.Now(); v.submit(ctx, lead) == "" && time.Since(begun) < time.Minute; {
					sleep(ctx, 20*time.Millisecond)
				}
			}
		})
	}

	for range 2 {
		v.group.Go(func() {
			for ; running.Err() == nil; sleep(running, 20*time.Millisecond) {
				status, _, _ := harness.Do(ctx, http.MethodPost, s.Base+"/graphql", "", readQuery)
				v.mu.Lock()
				v.reads[status]++
				v.mu.Unlock()
			}
		})
	}

	return v
}

// submit sends a lead once, and returns its id if it was accepted. Each lead has its own
// network.
func (v *visitors) submit(ctx context.Context, lead int) string {
	status, body, _ := harness.Do(ctx, http.MethodPost, v.service.Base+"/api/quote/submit", "", leadBody(lead),
		"X-Forwarded-For", fmt.Sprintf("10.%d.%d.1", lead>>8, lead&255))
	id := leadID(body)

	v.mu.Lock()
	defer v.mu.Unlock()
	v.statuses[status]++
	if id != "" {
		v.acked[id] = lead
	}
	return id
}

// leadID returns the lead id in a response, or an empty string.
func leadID(body []byte) string {
	var response struct{ SubmissionID string }
	_ = json.Unmarshal(body, &response)
	return response.SubmissionID
}

// await waits for more responses with a status.
func (v *visitors) await(ctx context.Context, in map[int]int, status, more int) {
	have := func() int {
		v.mu.Lock()
		defer v.mu.Unlock()
		return in[status]
	}

	for from, deadline := have(), time.Now().Add(time.Minute); have() < from+more; {
		if sleep(ctx, 5*time.Millisecond); time.Now().After(deadline) || ctx.Err() != nil {
			harness.Failf("no more responses with the status %d within a minute", status)
		}
	}
}

// end stops the visitors when all leads are accepted, and checks that the service, the
// CMS and the CRM have each lead once. Deliveries of a killed process are retried within
// 90 seconds; a slow machine needs longer for all of them. Meanwhile an operator runs a
// command, if there is one, every 20 seconds.
func (v *visitors) end(ctx context.Context, u *upstreams, command ...string) {
	v.stop()
	v.group.Wait()
	checkStatuses(v.statuses, 0, http.StatusOK, http.StatusServiceUnavailable)

	submitted := map[string]string{}
	for id, lead := range v.acked {
		submitted[id] = email(lead)
		if again := v.submit(ctx, lead); again != id {
			harness.Failf("lead %d was acknowledged as %s and is now %q", lead, id, again)
		}
	}
	if len(submitted) != v.begun {
		harness.Failf("%d of %d leads were accepted", len(submitted), v.begun)
	}

	for n, deadline := 0, time.Now().Add(10*time.Minute); ; n++ {
		if n%20 == 0 && len(command) > 0 {
			v.service.Command(ctx, command...)
		}
		sleep(ctx, time.Second)
		err := u.check(submitted)
		if err == nil {
			return
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			harness.Check(err)
		}
	}
}

// checkStatuses fails if there are responses with other statuses.
func checkStatuses(in map[int]int, allowed ...int) {
	for status := range in {
		if !slices.Contains(allowed, status) {
			harness.Failf("responses other than %v: %v", allowed, in)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
