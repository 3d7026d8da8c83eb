package deliveries

import (
	"fmt"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream/faulttest"
)

// TestFaults makes both targets fail in each way that deliveries handle differently. The
// drivers' tests cover every status. After the targets recover, there is one document and
// one contact.
func TestFaults(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	retrying := apptest.Start(t, stubs.Env(apptest.Quick)...)
	waiting := apptest.Start(t, stubs.Env()...) // retries when an operator requests it

	for i, row := range []struct {
		fault  faulttest.Fault
		byHand bool
	}{
		{faulttest.Of(faulttest.Reset).AfterActing(), false},
		{faulttest.Respond(401), false},
		{faulttest.Respond(409).AfterActing(), false},
		{faulttest.Respond(200).With("<html>").AfterActing(), false},
		{faulttest.Respond(429).RetryAfter("1"), false},
		{faulttest.Respond(429).RetryAfter("86400"), true},
		{faulttest.Respond(422).AfterActing(), true},
	} {
		s, session := retrying, fmt.Sprintf("row-%d", i)
		if row.byHand {
			s = waiting
		}
		stubs.CMS.Fail(row.fault.On("mutate").Times(-1))
		stubs.CRM.Fail(row.fault.On("POST /contacts").Times(-1))
		id := s.Submit(session)
		apptest.Eventually(t, "the error is shown to operators", func() bool {
			d := s.Deliveries(id)
			for _, target := range []lead.Target{lead.CMS, lead.CRM} {
				if d := d[target]; len(d.Errors) == 0 && d.Paused == "" {
					return false
				}
			}
			return true
		})

		stubs.Recover()
		if row.byHand {
			s.Prints("deliveries retry --all")
		}
		apptest.Eventually(t, row.fault.String()+": both deliveries arrive", func() bool {
			d := s.Deliveries(id)
			return d["cms"].State == "delivered" && d["crm"].State == "delivered"
		})
		stubs.CheckLead(t, session, id)
	}
}
