package hubspot_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/crm/crmtest"
	"siteapi/integrations/crm/hubspot"
	ht "siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream"
	"siteapi/integrations/upstream/faulttest"
)

// outcome is a fault with the kind of error and the pause of the queue that it causes.
type outcome struct {
	fault faulttest.Fault
	want  upstream.Kind
	after time.Duration // Retry-After
	pause time.Duration // assumed without a Retry-After
}

func outcomes() []outcome {
	all := []outcome{
		{faulttest.Of(faulttest.Reset), upstream.Unavailable, 0, 0},
		{faulttest.Page(200), upstream.Unavailable, 0, 0},
		{faulttest.Respond(200).With(`{}`), upstream.Unavailable, 0, 0},
		{faulttest.Respond(500).With("<html>ana.pop@example.com</html>"), upstream.Unavailable, 0, 0},
		{ht.Limited("DAILY", ""), upstream.Limited, 0, 15 * time.Minute},
		{ht.Limited("DAILY", "7200"), upstream.Limited, 2 * time.Hour, 0},
		{ht.Limited("TEN_SECONDLY_ROLLING", ""), upstream.Limited, 0, 10 * time.Second},
		{ht.Limited("SECONDLY", ""), upstream.Limited, 0, time.Second},
		{faulttest.Respond(429).With("slow down"), upstream.Limited, 0, 10 * time.Second},
	}
	for kind, statuses := range map[upstream.Kind][]int{
		upstream.Unavailable: {302, 409, 423, 477, 503},
		upstream.Rejected:    {400, 422},
		upstream.Refused:     {401, 402, 403, 405},
	} {
		for _, status := range statuses {
			all = append(all, outcome{faulttest.Respond(status), kind, 0, 0})
		}
	}
	return all
}

// TestFaults injects each fault into each request of a lead, before and after HubSpot
// processes it. People move a deal that was created meanwhile. After recovery there is one
// contact with the correct values, and one deal of this contact in the stage that they
// chose.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, on := range []string{
		"GET /contacts", "POST /contacts", "PATCH /contacts",
		"PATCH /deals", "GET /pipelines", "POST /deals", "PUT /associations",
	} {
		for _, acted := range []bool{false, true} {
			t.Run(on, func(t *testing.T) {
				t.Parallel()
				for _, o := range outcomes() {
					a, want := prepared(t, ht.Options{}, withDeals), crmtest.Want(ana)
					if on == "PATCH /contacts" {
						a.stub.Add(map[string]string{"email": ana, "firstname": "Before", "quote_contact_created": "true"}, time.Now())
						want["firstname"] = "Before"
					}
					fault := o.fault
					if acted {
						fault = fault.AfterActing()
					}
					a.stub.Fail(fault.On(on))

					err := a.deliver(t)
					conflict := on == "POST /deals" && acted && fault.Sends() == 409 // the deal is found
					object := on == "PUT /associations" && fault.Sends() == 200 && strings.Contains(o.fault.String(), "{}")
					if !conflict && !object {
						if e := expectKind(t, err, o.want); e.RetryAfter != o.after || e.Pause != o.pause {
							t.Errorf("%s: Retry-After %v and pause %v, want %v and %v",
								o.fault, e.RetryAfter, e.Pause, o.after, o.pause)
						}
					}

					stage := "appointmentscheduled"
					if len(a.stub.Deals()) == 1 {
						stage = "qualifiedtobuy"
						a.stub.Edit(crmtest.FirstID, map[string]string{"dealstage": stage}, time.Now())
					}
					if err := a.deliver(t); err != nil {
						t.Fatalf("%s: after recovery: %v", o.fault, err)
					}
					a.subject().Expect(t, ana, want)
					deal := a.onlyDeal(t, o.fault.String())
					if n := len(a.stub.Contacts()); deal.Properties["dealstage"] != stage || n != 1 {
						t.Errorf("%s: %d contacts, and the stage is %s, want %s", o.fault, n, deal.Properties["dealstage"], stage)
					}
				}
			})
		}
	}
}

// TestConcurrentProcesses delivers one lead from several processes at once.
func TestConcurrentProcesses(t *testing.T) {
	t.Parallel()
	a := prepared(t, ht.Options{}, withDeals)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			other := hubspot.New(hubspot.Options{
				BaseURL:   a.stub.URL(),
				Token:     ht.Token,
				Version:   "2026-03",
				DealStage: "default/appointmentscheduled",
			})
			if _, err := other.Upsert(context.WithoutCancel(t.Context()), crmtest.Contact(ana, nil)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	a.onlyDeal(t, "at once")
}
