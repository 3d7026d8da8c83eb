package main

import (
	"fmt"
	"testing"
	"time"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// fault is one way of both far ends to fail, which lasts until they recover.
type fault struct {
	name string
	cms  sanitytest.Fault
	crm  hubspottest.Fault
	// parked is the state in which a delivery waits for an operator; empty: it arrives by
	// itself once the far end has recovered.
	parked string
}

// always is how often a lasting fault is met.
const always = 1_000_000

func faultTable() []fault {
	cmsAnswer := func(status int) sanitytest.Fault { return sanitytest.Fault{Mode: sanitytest.Answer, Status: status} }
	cmsMode := func(mode sanitytest.Mode) sanitytest.Fault { return sanitytest.Fault{Mode: mode} }
	stored := func(f sanitytest.Fault) sanitytest.Fault { f.Acted = true; return f }
	answer := func(status int) hubspottest.Fault { return hubspottest.Answer(status, nil) }
	limited := func(wait string) sanitytest.Fault {
		return sanitytest.Fault{Mode: sanitytest.Answer, Status: 429, RetryAfter: wait}
	}
	// What claims success without showing it.
	nothing := func() hubspottest.Fault { return hubspottest.Answer(200, []byte(`{}`)) }
	return []fault{
		{"timeout", cmsMode(sanitytest.Hang), hubspottest.Hang(), ""},
		{"timeout after storing", stored(cmsMode(sanitytest.Hang)), hubspottest.Hang().AfterStoring(), ""},
		{"reset before storing", cmsMode(sanitytest.Reset), hubspottest.Reset(), ""},
		{"reset after storing", stored(cmsMode(sanitytest.Reset)), hubspottest.Reset().AfterStoring(), ""},
		{"400", cmsAnswer(400), answer(400), "failed"},
		{"401", cmsAnswer(401), answer(401), "retrying"},
		{"403", cmsAnswer(403), answer(403), "retrying"},
		{"404", cmsAnswer(404), answer(404), "retrying"},
		{"409", cmsAnswer(409), answer(409), ""},
		{"409 after storing", stored(cmsAnswer(409)), answer(409).AfterStoring(), ""},
		{"422", cmsAnswer(422), answer(422), "failed"},
		{"422 after storing", stored(cmsAnswer(422)), answer(422).AfterStoring(), "failed"},
		{"423", cmsAnswer(423), answer(423), ""},
		{"429 with Retry-After", limited("1"), hubspottest.Limited("TEN_SECONDLY_ROLLING", "1"), ""},
		{"429 without Retry-After", limited(""), hubspottest.Limited("SECONDLY", ""), ""},
		{"daily limit", limited("86400"), hubspottest.Limited("DAILY", ""), ""},
		{"500", cmsAnswer(500), answer(500), ""},
		{"500 after storing", stored(cmsAnswer(500)), answer(500).AfterStoring(), ""},
		{"502", cmsAnswer(502), answer(502), ""},
		{"503", cmsAnswer(503), answer(503), ""},
		{"slow drip", cmsMode(sanitytest.Drip), hubspottest.Drip(5 * time.Millisecond), ""},
		{"invalid JSON", cmsMode(sanitytest.BrokenJSON), hubspottest.Garbage(), ""},
		{"invalid JSON after storing", stored(cmsMode(sanitytest.BrokenJSON)), hubspottest.Garbage().AfterStoring(), ""},
		{"partial success", cmsMode(sanitytest.Partial), nothing(), ""},
		{"partial success after storing", stored(cmsMode(sanitytest.Partial)), nothing().AfterStoring(), ""},
	}
}

// column is a call of the service that is made to fail.
type column struct {
	name, target string
	fail         func(f *farEnds, row fault)
	// harmless are rows after which the lead arrives although nothing has recovered.
	harmless map[string]bool
}

func columns() []column {
	return []column{
		{"CMS", "cms", func(f *farEnds, row fault) {
			row.cms.On, row.cms.Times = "mutate", always
			f.cms.Fail(row.cms)
		}, nil},
		{"CRM reading", "crm", func(f *farEnds, row fault) { f.crm.Fail(row.crm.On("GET", "/objects/contacts/").Times(-1)) },
			map[string]bool{"404": true}}, // there is no such contact yet
		{"CRM writing", "crm", func(f *farEnds, row fault) { f.crm.Fail(row.crm.On("POST", "/objects/contacts").Times(-1)) }, nil},
	}
}

// TestFaultTable lets each call fail in each way through the whole service, and sees
// that after the far end has recovered there is one document and one contact.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	for _, col := range columns() {
		t.Run(col.name, func(t *testing.T) {
			t.Parallel()
			far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
			s := startService(t, far.env(), quick)
			for i, row := range faultTable() {
				// One after the other: all rows share a service and its circuits.
				t.Run(row.name, func(t *testing.T) {
					session := fmt.Sprintf("row-%d", i)
					faultCase(t, s, far, col, row, session)
				})
			}
		})
	}
}

func faultCase(t *testing.T, s *service, far *farEnds, col column, row fault, session string) {
	before := met(far, col)
	col.fail(far, row)
	defer far.recover()
	id := s.submit(t, session)
	eventually(t, "the fault is met", func() bool { return met(far, col) > before })
	if row.parked != "" && !col.harmless[row.name] {
		eventually(t, "the delivery waits for an operator", func() bool {
			d := s.deliveries(id)[col.target]
			return d.State == row.parked && (d.NextAt.IsZero() || time.Until(d.NextAt) > 10*time.Minute)
		})
		tried := met(far, col) - before
		far.recover()
		time.Sleep(150 * time.Millisecond)
		if d := s.deliveries(id)[col.target]; d.State != row.parked || tried > 3 {
			t.Errorf("after %d failed calls and before the retry the delivery is %+v", tried, d)
		}
		if out, err := s.siteapi("deliveries", "retry", "--all"); err != nil {
			t.Errorf("retrying: %v %s", err, out)
		}
	}
	far.recover()
	eventually(t, "both deliveries are made", func() bool {
		d := s.deliveries(id)
		return len(d) == 2 && d["cms"].State == "delivered" && d["crm"].State == "delivered"
	})
	far.checkLead(t, session, id)
}

// met is how often a column's calls were made to fail.
func met(far *farEnds, col column) int {
	inCMS, inCRM := far.faults()
	if col.target == "cms" {
		return inCMS
	}
	return inCRM
}
