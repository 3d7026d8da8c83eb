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
const readQuery = `{"query":"{ SiteSettings(id: \"siteSettings\") { contactEmail } content(documentType: \"heroSection\") { id } }"}`

// visitors submit leads, each again with the same content until it is acknowledged,
// and read content meanwhile.
type visitors struct {
	service *harness.Service
	stop    context.CancelFunc
	group   sync.WaitGroup

	leads    atomic.Int64 // that were begun
	mu       sync.Mutex
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

// begin lets 8 visitors submit and 2 read until end is called. A visitor whose lead is not
// taken yet goes on for a minute at most.
func (v *visitors) begin(ctx context.Context) {
	running, stop := context.WithCancel(ctx)
	patient, cut := context.WithCancel(ctx)
	v.stop = func() { stop(); time.AfterFunc(time.Minute, cut) }
	for range 8 {
		v.group.Go(func() {
			for running.Err() == nil {
				lead := int(v.leads.Add(1))
				for patient.Err() == nil && !v.submit(patient, lead) {
					sleep(patient, 20*time.Millisecond)
				}
				sleep(running, 20*time.Millisecond)
			}
		})
	}
	for range 2 {
		v.group.Go(func() {
			for running.Err() == nil {
				status, _, _ := harness.Do(ctx, http.MethodPost, v.service.Base+"/graphql", readQuery)
				v.mu.Lock()
				v.reads[status]++
				v.mu.Unlock()
				sleep(running, 20*time.Millisecond)
			}
		})
	}
}

// submit sends a lead once, notes what came of it and reports whether it was taken.
func (v *visitors) submit(ctx context.Context, lead int) bool {
	id, status, err := v.send(ctx, lead)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.statuses[status]++
	if status == http.StatusOK {
		v.acked[id] = lead
		return true
	}
	if status != 0 && status != http.StatusServiceUnavailable && v.wrong == nil {
		v.wrong = err
	}
	return false
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
func (v *visitors) await(ctx context.Context, in map[int]int, status, more int) {
	have := func() int {
		v.mu.Lock()
		defer v.mu.Unlock()
		return in[status]
	}
	for from, deadline := have(), time.Now().Add(time.Minute); have() < from+more; sleep(ctx, 5*time.Millisecond) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			harness.Check(fmt.Errorf("waited in vain for answers with %d", status))
		}
	}
}

// end stops the visitors when every lead is taken, and checks that each is there once: in
// the service, in the CMS and in the CRM.
func (v *visitors) end(ctx context.Context, u *harness.Upstreams) {
	v.stop()
	v.group.Wait()
	harness.Check(v.wrong)
	if begun := int(v.leads.Load()); len(v.acked) != begun {
		harness.Check(fmt.Errorf("%d of %d leads were taken", len(v.acked), begun))
	}
	submitted := map[string]string{}
	for id, lead := range v.acked {
		submitted[id] = email(lead)
		again, _, err := v.send(ctx, lead)
		harness.Check(err)
		status, _, err := harness.Do(ctx, http.MethodGet, v.service.Base+"/api/quote/pdf?id="+id, "")
		harness.Check(err)
		if again != id || status != http.StatusOK {
			harness.Check(fmt.Errorf("lead %d was acknowledged as %s and is now %q, its PDF is answered with %d", lead, id, again, status))
		}
	}
	err := u.Check(submitted)
	for deadline := time.Now().Add(90 * time.Second); err != nil && time.Now().Before(deadline); sleep(ctx, 200*time.Millisecond) {
		err = u.Check(submitted)
	}
	harness.Check(err)
}

// only fails if anything but the given statuses was answered.
func (v *visitors) only(in map[int]int, allowed ...int) {
	v.mu.Lock()
	defer v.mu.Unlock()
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
