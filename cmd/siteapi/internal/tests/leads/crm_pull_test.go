package leads

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/upstream/faulttest"
	"siteapi/schema"
)

// The service reads outcomes from HubSpot soon after the first lead and does not read
// them again for an hour, even after a restart. It writes nothing to HubSpot. An outcome
// set by an operator takes precedence. A failed pull loses nothing.
func TestOutcomesOfTheCRM(t *testing.T) {
	t.Parallel()
	admin := apptest.FreeAddress(t)
	s := apptest.NewRemoteSite(t, "ADMIN_ADDR="+admin, "HUBSPOT_DEAL_STAGE=default/appointmentscheduled").Start()
	crm := s.Stubs.CRM
	moves := func(id, stage string) {
		crm.Edit(id, map[string]string{"dealstage": stage}, time.Now().Add(time.Hour))
	}

	zoe, fay := s.Submit("zoe"), s.Submit("fay")
	s.Arrives(zoe)
	s.Arrives(fay)
	s.Logs("read the outcomes of leads from the CRM")
	moves(zoe, "closedwon")
	s.Prints("crm pull", "1 outcomes were set")
	operators := apptest.Client{T: t, Base: "http://" + admin}
	for _, want := range []string{
		"siteapi_crm_pull_seconds ",
		`siteapi_events_total{detail="complete",event="crm_pull"} 1`,
	} {
		apptest.Eventually(t, "/metrics has "+want, func() bool { return operators.Do("GET", "/metrics", "").Has(want) })
	}

	searches := func() (n int) {
		for _, r := range crm.Requests() {
			if strings.HasSuffix(r.Path, "/search") {
				n++
			}
		}
		return n
	}
	s.Stop(t)
	before := searches()
	s.Start()
	if n := searches(); n != before {
		t.Errorf("after a restart it sent %d more queries", n-before)
	}

	s.Run("leads", "outcome", fay, "lost")
	moves(fay, "closedwon")
	hal := s.Submit("hal")
	s.Arrives(hal)
	moves(hal, "qualifiedtobuy")
	for name, fault := range map[string]faulttest.Fault{
		"before a page": faulttest.Respond(503).On("POST /search"),
		"within a page": faulttest.Of(faulttest.Reset).On("POST /batch/read").Times(-1),
	} {
		crm.Fail(fault)
		if out, code := s.Run("crm", "pull"); code != 1 {
			t.Errorf("%s: %d %s", name, code, out)
		}
		crm.Recover()
	}

	known := len(crm.Requests())
	for _, want := range []string{"1 outcomes were set", "0 outcomes were set"} {
		s.Prints("crm pull", want)
	}
	for _, r := range crm.Requests()[known:] {
		if !strings.HasSuffix(r.Path, "/search") && !strings.HasSuffix(r.Path, "/batch/read") {
			t.Errorf("the CRM was written to: %s %s", r.Method, r.Path)
		}
	}
	for id, want := range map[string]string{zoe: "WON CRM", fay: "LOST OPERATOR", hal: "QUALIFIED CRM"} {
		var shown schema.Lead
		s.JSON(&shown, "leads", "show", id)
		if got := fmt.Sprint(shown.Outcome.Value, " ", shown.Outcome.Source); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

// Two leads of one person have two outcomes, and the stage of the contact does not count.
// Later changes of a deal replace its outcome, but not that of an operator.
func TestOutcomesOfDeals(t *testing.T) {
	t.Parallel()
	s := apptest.NewRemoteSite(t, "HUBSPOT_DEAL_STAGE=default/appointmentscheduled").Start()
	crm := s.Stubs.CRM
	at := func(hours int) time.Time { return time.Now().Add(time.Duration(hours) * time.Hour) }
	pulls := func(want string) {
		t.Helper()
		s.Prints("crm pull", want+" outcomes were set")
	}

	ids := make([]string, 4)
	for i := range ids {
		ids[i] = s.Submit(fmt.Sprint("quote-", i), `"contact": {"email": "ana@example.com"}`)
		s.Arrives(ids[i])
	}
	crm.Edit("ana@example.com", map[string]string{"lifecyclestage": "customer"}, at(1))
	crm.Edit(ids[0], map[string]string{"dealstage": "closedwon", "amount": "9000.456"}, at(1))
	crm.Edit(ids[1], map[string]string{"dealstage": "closedlost"}, at(1))
	crm.Edit(ids[2], map[string]string{"dealstage": "qualifiedtobuy"}, at(1))
	pulls("3")
	pulls("0")

	s.Run("leads", "outcome", ids[1], "won")
	crm.Edit(ids[0], map[string]string{"amount": "1e12"}, at(2)) // beyond what outcomes have
	crm.Edit(ids[1], map[string]string{"dealstage": "qualifiedtobuy"}, at(2))
	crm.Edit(ids[2], map[string]string{"dealstage": "closedwon", "amount": "9000.456"}, at(2))
	pulls("2")

	for i, want := range []string{"WON -1 ", "WON -1 ", "WON 9000.46 EUR", " -1 "} { // -1 is no amount
		var shown schema.Lead
		s.JSON(&shown, "leads", "show", ids[i])
		o := schema.ValueOr(shown.Outcome, schema.LeadOutcome{})
		got := fmt.Sprint(o.Value, " ", schema.ValueOr(o.Amount, -1), " ", schema.ValueOr(o.Currency, ""))
		if got != want {
			t.Errorf("the outcome of quote %d is %q, want %q", i, got, want)
		}
	}
}

// Without deals nothing is read from the CRM, whose contacts do not tell of which lead they
// are the outcome.
func TestNoOutcomesOfContacts(t *testing.T) {
	t.Parallel()
	s := apptest.NewRemoteSite(t).Start()
	id := s.Submit("zoe")
	s.Arrives(id)
	s.Stubs.CRM.Edit("zoe@example.com", map[string]string{"lifecyclestage": "customer"}, time.Now().Add(time.Hour))
	s.Prints("crm pull", "HUBSPOT_DEAL_STAGE", "nothing was done")
	s.Prints("leads show " + id).Without("outcome")
	for _, r := range s.Stubs.CRM.Requests() {
		if strings.HasSuffix(r.Path, "/search") {
			t.Errorf("the CRM was searched: %s", r.Path)
		}
	}
}
