package main

import (
	"fmt"
	"testing"
	"time"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/queue"
)

// fault is one way in which both targets fail until they recover.
type fault struct {
	name string
	cms  sanitytest.Fault
	crm  hubspottest.Fault
	// byHand marks a fault after which an operator retries the delivery.
	byHand bool
}

// always is the number of times that a persistent fault occurs.
const always = 1_000_000

func faultTable() []fault {
	cmsAnswer := func(status int) sanitytest.Fault {
		return sanitytest.Fault{Mode: sanitytest.Answer, Status: status}
	}
	cmsMode := func(mode sanitytest.Mode) sanitytest.Fault { return sanitytest.Fault{Mode: mode} }
	stored := func(f sanitytest.Fault) sanitytest.Fault { f.Acted = true; return f }
	answer := func(status int) hubspottest.Fault { return hubspottest.Answer(status, nil) }
	limited := func(wait string) sanitytest.Fault {
		return sanitytest.Fault{Mode: sanitytest.Answer, Status: 429, RetryAfter: wait}
	}

	// The answer claims success without showing it.
	nothing := func() hubspottest.Fault { return hubspottest.Answer(200, []byte(`{}`)) }

	return []fault{
		{"timeout", cmsMode(sanitytest.Hang), hubspottest.Hang(), false},
		{"timeout after storing", stored(cmsMode(sanitytest.Hang)), hubspottest.Hang().AfterStoring(), false},
		{"reset before storing", cmsMode(sanitytest.Reset), hubspottest.Reset(), false},
		{"reset after storing", stored(cmsMode(sanitytest.Reset)), hubspottest.Reset().AfterStoring(), false},
		{"400", cmsAnswer(400), answer(400), true},
		{"401", cmsAnswer(401), answer(401), false},
		{"403", cmsAnswer(403), answer(403), false},
		{"404", cmsAnswer(404), answer(404), false},
		{"409", cmsAnswer(409), answer(409), false},
		{"409 after storing", stored(cmsAnswer(409)), answer(409).AfterStoring(), false},
		{"422", cmsAnswer(422), answer(422), true},
		{"422 after storing", stored(cmsAnswer(422)), answer(422).AfterStoring(), true},
		{"423", cmsAnswer(423), answer(423), false},
		{"429 with Retry-After", limited("1"), hubspottest.Limited("TEN_SECONDLY_ROLLING", "1"), false},
		{"429 without Retry-After", limited(""), hubspottest.Limited("SECONDLY", ""), false},
		{"daily limit", limited("86400"), hubspottest.Limited("DAILY", ""), true},
		{"500", cmsAnswer(500), answer(500), false},
		{"500 after storing", stored(cmsAnswer(500)), answer(500).AfterStoring(), false},
		{"502", cmsAnswer(502), answer(502), false},
		{"503", cmsAnswer(503), answer(503), false},
		{"slow drip", cmsMode(sanitytest.Drip), hubspottest.Drip(5 * time.Millisecond), false},
		{"invalid JSON", cmsMode(sanitytest.BrokenJSON), hubspottest.Garbage(), false},
		{"invalid JSON after storing", stored(cmsMode(sanitytest.BrokenJSON)),
			hubspottest.Garbage().AfterStoring(), false},
		{"partial success", cmsMode(sanitytest.Partial), nothing(), false},
		{"partial success after storing", stored(cmsMode(sanitytest.Partial)),
			nothing().AfterStoring(), false},
	}
}

// column is a call of the service that is made to fail.
type column struct {
	name   string
	target queue.Target
	fail   func(f *vendorStubs, row fault)
	// harmless are rows after which the lead arrives although nothing has recovered.
	harmless map[string]bool
}

func columns() []column {
	return []column{
		{"CMS", "cms", func(f *vendorStubs, row fault) {
			row.cms.On, row.cms.Times = "mutate", always
			f.cms.Fail(row.cms)
		}, nil},
		{"CRM reading", "crm", func(f *vendorStubs, row fault) {
			f.crm.Fail(row.crm.On("GET", "/objects/contacts/").Times(-1))
		}, map[string]bool{"404": true}}, // there is no such contact yet
		{"CRM writing", "crm", func(f *vendorStubs, row fault) {
			f.crm.Fail(row.crm.On("POST", "/objects/contacts").Times(-1))
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
			stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
			retrying := startService(t, stubs.env(), quick)
			waiting := startService(t, stubs.env()) // retries when an operator asks

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

func faultCase(t *testing.T, s *service, stubs *vendorStubs, col column, row fault, session string) {
	before := met(stubs, col)
	col.fail(stubs, row)
	defer stubs.recover()

	id := s.submit(t, session)
	eventually(t, "the fault is met", func() bool { return met(stubs, col) > before })

	byHand := row.byHand && !col.harmless[row.name]
	if byHand {
		eventually(t, "an operator sees why it waits", func() bool {
			d := s.deliveries(id)[col.target]
			return d.State == "failed" && len(d.Errors) == 1 || d.Paused != ""
		})
	}

	stubs.recover()

	// A call that hangs fails after ten seconds.
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		d := s.deliveries(id)
		if d["cms"].State == "delivered" && d["crm"].State == "delivered" {
			break
		}

		if byHand {
			if out, err := s.siteapi("deliveries", "retry", "--all"); err != nil {
				t.Errorf("retrying: %v %s", err, out)
			}
		}

		if time.Now().After(deadline) {
			t.Fatalf("both deliveries are to be made: %+v", d)
		}
	}

	stubs.checkLead(t, session, id)
}

// met returns how often a column's calls were made to fail.
func met(stubs *vendorStubs, col column) int {
	inCMS, inCRM := stubs.faults()
	if col.target == "cms" {
		return inCMS
	}
	return inCRM
}
