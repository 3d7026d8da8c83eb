package deliveries

import (
	"fmt"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream/faulttest"
)

// fault is one way in which both targets fail until they recover.
type fault struct {
	name string
	cms  faulttest.Fault
	crm  faulttest.Fault
	// byHand marks a fault after which an operator retries the delivery.
	byHand bool
}

// faultTable has one fault for each way in which a delivery goes on. The drivers' tests have
// every status.
func faultTable() []fault {
	answer, limited := faulttest.Answer, faulttest.Answer(429)
	hang, reset := faulttest.Of(faulttest.Hang), faulttest.Of(faulttest.Reset)
	broken, partial := faulttest.Of(faulttest.BrokenJSON), faulttest.Of(faulttest.Partial)

	// The answer claims success without showing it.
	nothing := answer(200).With(`{}`)

	// both fails in one way at both targets.
	both := func(name string, f faulttest.Fault, byHand bool) fault { return fault{name, f, f, byHand} }

	return []fault{
		both("timeout", hang, false),
		both("timeout after storing", hang.AfterActing(), false),
		both("reset after storing", reset.AfterActing(), false),
		both("400", answer(400), true),
		both("401", answer(401), false),
		both("404", answer(404), false),
		both("409 after storing", answer(409).AfterActing(), false),
		both("422 after storing", answer(422).AfterActing(), true),
		{"429 with Retry-After", limited.RetryAfter("1"), hubspottest.Limited("TEN_SECONDLY_ROLLING", "1"), false},
		{"429 without Retry-After", limited, hubspottest.Limited("SECONDLY", ""), false},
		{"daily limit", limited.RetryAfter("86400"), hubspottest.Limited("DAILY", ""), true},
		both("500 after storing", answer(500).AfterActing(), false),
		{"invalid JSON", broken, hubspottest.Garbage(), false},
		{"invalid JSON after storing", broken.AfterActing(), hubspottest.Garbage().AfterActing(), false},
		{"partial success", partial, nothing, false},
		{"partial success after storing", partial.AfterActing(), nothing.AfterActing(), false},
	}
}

// column is a call of the service that is made to fail.
type column struct {
	name   string
	target lead.Target
	fail   func(f *apptest.Vendors, row fault)
	// harmless are rows after which the lead arrives although nothing has recovered.
	harmless map[string]bool
}

func columns() []column {
	return []column{
		{"CMS", "cms", func(f *apptest.Vendors, row fault) {
			f.CMS.Fail(row.cms.On("mutate").Times(-1))
		}, nil},
		{"CRM reading", "crm", func(f *apptest.Vendors, row fault) {
			f.CRM.Fail(row.crm.On("GET /objects/contacts/").Times(-1))
		}, map[string]bool{"404": true}}, // there is no such contact yet
		{"CRM writing", "crm", func(f *apptest.Vendors, row fault) {
			f.CRM.Fail(row.crm.On("POST /objects/contacts").Times(-1))
		}, nil},
	}
}

// TestFaultTable lets each call fail in each way through the whole service. Once the
// target has recovered there is one document and one contact.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	for _, col := range columns() {
		t.Run(col.name, func(t *testing.T) {
			t.Parallel()
			stubs := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
			retrying := apptest.Start(t, stubs.Env(), apptest.Quick)
			waiting := apptest.Start(t, stubs.Env()) // retries when an operator asks

			for i, row := range faultTable() {
				t.Run(row.name, func(t *testing.T) { // rows run in turn: they share the stubs
					s := retrying
					if row.byHand {
						s = waiting
					}
					faultCase(t, s, stubs, col, row, fmt.Sprintf("row-%d", i))
				})
			}
		})
	}
}

func faultCase(t *testing.T, s *apptest.Service, stubs *apptest.Vendors, col column, row fault, session string) {
	before := met(stubs, col)
	col.fail(stubs, row)
	defer stubs.Recover()

	id := s.Submit(t, session)
	apptest.Eventually(t, "the fault is met", func() bool { return met(stubs, col) > before })

	byHand := row.byHand && !col.harmless[row.name]
	if byHand {
		apptest.Eventually(t, "an operator sees why it waits", func() bool {
			d := s.Deliveries(id)[col.target]
			return d.State == "failed" && len(d.Errors) == 1 || d.Paused != ""
		})
	}

	stubs.Recover()

	// A call that hangs fails after ten seconds.
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		d := s.Deliveries(id)
		if d["cms"].State == "delivered" && d["crm"].State == "delivered" {
			break
		}

		if byHand {
			if out, err := s.Command("deliveries", "retry", "--all"); err != nil {
				t.Errorf("retrying: %v %s", err, out)
			}
		}

		if time.Now().After(deadline) {
			t.Fatalf("both deliveries are to be made: %+v", d)
		}
	}

	stubs.CheckLead(t, session, id)
}

// met returns how often a column's calls were made to fail.
func met(stubs *apptest.Vendors, col column) (n int) {
	if col.target == lead.CRM {
		for _, r := range stubs.CRM.Requests() {
			if r.Fault != "" {
				n++
			}
		}
		return n
	}
	for _, r := range stubs.CMS.Requests() {
		if r.Fault != "" && r.API == "mutate" {
			n++
		}
	}
	return n
}
