package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"siteapi/cmd/internal/harness"
)

// readQuery reads content through GraphQL.
const readQuery = `{"query":"{ SiteSettings(id: \"siteSettings\") { contactEmail } ` +
	`content(documentType: \"heroSection\") { id } }"}`

// visitors submit leads, each again with the same content until it is acknowledged, and
// read content meanwhile.
type visitors struct {
	service *harness.Service
	stop    context.CancelFunc
	group   sync.WaitGroup

	leads    atomic.Int64 // number of leads begun
	mu       sync.Mutex
	acked    map[string]int // acknowledged leads by lead id
	statuses map[int]int    // answers to leads by status; 0 is no answer
	reads    map[int]int    // answers to reads of content by status
}

// email returns an address that mails are sent to, unlike one of example.com.
func email(lead int) string { return fmt.Sprintf("visitor-%05d@lumen-visitors.org", lead) }

// lead returns the body of a lead, which differs from all others.
func submission(lead int) string {
	return fmt.Sprintf(`{"sessionId":"chaos-%05d","locale":"%s",
		"contact":{"firstName":"Visitor","lastName":"Ștefan-%05d","email":"%s"},`+
		`"selections":{"projectType":"shop"},
		"estimate":{"min":%d,"max":%d,"currency":"EUR"}}`,
		lead, []string{"en", "es", "ro"}[lead%3], lead, email(lead), 1000+lead, 2000+lead)
}

// newVisitors lets 8 visitors submit, 40 leads a second at most, and 2 read until they are
// stopped. A visitor whose lead is not accepted retries for a minute at most.
func newVisitors(ctx context.Context, s *harness.Service) *visitors {
	v := &visitors{service: s, acked: map[string]int{}, statuses: map[int]int{}, reads: map[int]int{}}
	running, stop := context.WithCancel(ctx)
	v.stop = stop

	for range 8 {
		v.group.Go(func() {
			for ; running.Err() == nil; sleep(running, 200*time.Millisecond) {
				lead, begun := int(v.leads.Add(1)), time.Now()
				for !v.submit(ctx, lead) && ctx.Err() == nil && time.Since(begun) < time.Minute {
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

// submit sends a lead once, records the result and reports whether it was accepted.
func (v *visitors) submit(ctx context.Context, lead int) bool {
	id, status := send(ctx, v.service, lead)

	v.mu.Lock()
	defer v.mu.Unlock()
	v.statuses[status]++
	if id != "" {
		v.acked[id] = lead
	}
	return id != ""
}

// send sends a lead once, each from a network of its own. The status is 0 if there was no
// complete answer.
func send(ctx context.Context, s *harness.Service, lead int) (id string, status int) {
	status, body, err := harness.Do(ctx, http.MethodPost, s.Base+"/api/quote/submit", "", submission(lead),
		"X-Forwarded-For", fmt.Sprintf("10.%d.%d.1", lead>>8, lead&255))
	if err != nil {
		return "", 0
	}
	return leadID(body), status
}

// leadID returns the id in an answer, or nothing from another one.
func leadID(body []byte) string {
	var answer struct{ SubmissionID string }
	_ = json.Unmarshal(body, &answer)
	return answer.SubmissionID
}

// await waits until a status was answered so many more times.
func (v *visitors) await(ctx context.Context, in map[int]int, status, more int) {
	have := func() int {
		v.mu.Lock()
		defer v.mu.Unlock()
		return in[status]
	}

	for from, deadline := have(), time.Now().Add(time.Minute); have() < from+more; sleep(
		ctx, 5*time.Millisecond) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			harness.Check(fmt.Errorf("waited in vain for answers with %d", status))
		}
	}
}

// idle is how long deliveries may stand still until what is missing counts as lost. One
// whose process was killed is tried again within 90 seconds.
const idle = 2 * time.Minute

// end stops the visitors when every lead is accepted, and checks that the service, the
// CMS and the CRM hold each lead once. It waits as long as deliveries go on.
func (v *visitors) end(ctx context.Context, u *upstreams) {
	v.stop()
	v.group.Wait()
	checkStatuses(v.statuses, 0, http.StatusOK, http.StatusServiceUnavailable)
	if begun := int(v.leads.Load()); len(v.acked) != begun {
		harness.Check(fmt.Errorf("%d of %d leads were taken", len(v.acked), begun))
	}

	submitted := map[string]string{}
	for id, lead := range v.acked {
		submitted[id] = email(lead)
		if again, _ := send(ctx, v.service, lead); again != id {
			harness.Check(fmt.Errorf("lead %d was acknowledged as %s and is now %q", lead, id, again))
		}
	}

	err := u.check(submitted)
	for moved := time.Now(); err != nil && time.Since(moved) < idle && ctx.Err() == nil; sleep(ctx, time.Second) {
		now := u.check(submitted)
		if now == nil || now.Error() != err.Error() {
			moved = time.Now()
		}
		err = now
	}
	harness.Check(err)
}

// checkStatuses fails if any status but the allowed ones was answered.
func checkStatuses(in map[int]int, allowed ...int) {
	for status := range in {
		if !slices.Contains(allowed, status) {
			harness.Check(fmt.Errorf("answers other than %v: %v", allowed, in))
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
