package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream/faulttest"
)

// startTroubled starts a site with a lead that was delivered, one that the CMS has
// rejected, and one that waits because the CRM is unavailable.
func startTroubled(t *testing.T) (s *apptest.Site, arrived, rejected, waiting string) {
	t.Helper()
	s = apptest.NewRemoteSite(t).Start()
	arrived = s.Submit("arrived")
	s.Arrives(arrived)

	s.Stubs.CMS.Fail(faulttest.Respond(400).On("mutate"))
	rejected = s.Submit("rejected")
	s.Reaches(rejected, "cms", "failed")
	s.Reaches(rejected, "crm", "delivered")

	s.Stubs.CRM.Fail(faulttest.Respond(503).Times(-1))
	waiting = s.Submit("waiting")
	s.Reaches(waiting, "cms", "delivered")
	s.Reaches(waiting, "crm", "retrying")

	return s, arrived, rejected, waiting
}

func TestDeliveriesCommands(t *testing.T) {
	t.Parallel()
	s, arrived, rejected, waiting := startTroubled(t)
	number := func(id, target string) string { return fmt.Sprint(s.DeliveriesOf(id)[target].ID) }
	failed, done := number(rejected, "cms"), number(arrived, "crm")

	good, bad, late := lead.Reference(arrived), lead.Reference(rejected), lead.Reference(waiting)
	list := func(args string, texts ...string) apptest.Printed {
		printed := s.Prints("deliveries list "+args, texts...)
		apptest.NoPersonalData(t, printed.Out)
		return printed
	}
	list("", "ID", "TARGET", late, "HTTP 503", bad, "HTTP 400").Without(good)
	list("--state all", late, bad, good)
	list("--state failed --state RETRYING,running", late, bad).Without(good)
	list("--state delivered --limit 1", late, "--limit 0 lists all").Without(good)
	list("--state all --lead "+lead.Reference(arrived), "DELIVERED").Without(bad)
	list("--state failed --json", `"attemptCount": 1`, `"id": "`+rejected+`"`).Without(waiting)
	s.Prints("leads list", "UNDER_WAY", "FAILED", "DELIVERED")

	s.Refuses(map[string]string{
		"deliveries list --lead none":                        "There is no lead none",
		"deliveries list --state lost":                       "must be one of pending, running, retrying, failed, delivered, not-sent",
		"deliveries retry 123456":                            "There is no delivery 123456",
		"deliveries resend " + arrived:                       `"target" not set`,
		"deliveries resend " + arrived + " --target webhook": "it is not set up",
		"deliveries verify --since yesterday":                "must be a duration",
		"deliveries verify --target webhook":                 "must be one of",
	})

	doctor, _ := s.Doctor(nil, "--server", s.Base)
	doctor.Reports(t, "deliveries", "WARNING", "1 leads were permanently rejected by the cms")

	s.Stubs.Recover()
	s.Prints("deliveries retry "+failed, "1")
	s.Prints("deliveries retry --all --target cms")
	s.Prints("deliveries retry "+done, "1") // a repeated delivery changes nothing in the CRM

	s.Arrives(rejected)
	s.Arrives(waiting)
	s.Arrives(arrived)

	// Changes made while the service is stopped take effect when it starts.
	inReview := s.Submit("bot", `"website": "https://spam.example", "consents": [{"purpose": "marketing", "given": true}]`)
	if d := s.DeliveriesOf(inReview); len(d) != 0 {
		t.Errorf("a lead in review is delivered: %+v", d)
	}
	s.Refuses(map[string]string{"deliveries resend " + inReview + " --target cms": "release it first"})
	s.Prints("deliveries verify", "leads                      3")
	doctor, _ = s.Doctor(nil, "--server", s.Base)
	doctor.Reports(t, "reviews", "WARNING", "1 leads are in review")
	s.Stop(t)
	s.Prints("deliveries retry "+done, "1")
	s.Prints("deliveries resend "+arrived+" --target crm", lead.Reference(arrived))
	s.Prints("leads reject "+inReview, "changed                    1")
	s.Prints("leads list --state rejected", lead.Reference(inReview))
	s.Prints("leads release --all", "changed                    0")
	s.Prints("leads release "+inReview, "changed                    1")
	s.Prints("leads withdraw "+inReview+" --purpose marketing", "leads                      1")
	s.Start()
	s.Arrives(arrived)
	s.Arrives(inReview)
	if out, code := s.Run("leads", "reject", inReview); code != 2 || !strings.Contains(out, "NOT_IN_REVIEW") {
		t.Errorf("rejecting a delivered lead: %d %s", code, out)
	}

	s.Stubs.CRM.Remove("arrived@example.com")
	s.Prints("deliveries resend "+lead.Reference(arrived)+" --target crm", lead.Reference(arrived))
	apptest.Eventually(t, "it is sent again", func() bool {
		return len(s.Stubs.Contacts("arrived@example.com")) == 1
	})

	for session, id := range map[string]string{"arrived": arrived, "rejected": rejected, "waiting": waiting} {
		s.Stubs.CheckLead(t, session, id)
	}
}

// verified is the report of `deliveries verify`.
type verified struct {
	Leads, UnderWay int
	Targets         []struct {
		Target                   string
		Present, Missing, Resent int
		Error                    string
	}
}

func TestDeliveriesVerify(t *testing.T) {
	t.Parallel()
	s, arrived, rejected, _ := startTroubled(t)
	verify := func(args ...string) (v verified, code int) {
		t.Helper()
		out, code := s.Run(append([]string{"deliveries", "verify", "--json"}, args...)...)
		apptest.ReadJSON(t, out, &v)
		apptest.NoPersonalData(t, out)
		return v, code
	}

	s.Stubs.Recover()
	// A failed delivery counts as missing. A waiting one is under way or has arrived by
	// now.
	v, code := verify()
	if cms, crm := v.Targets[0], v.Targets[1]; code != 2 || v.Leads != 3 ||
		cms.Present+v.UnderWay != 2 || cms.Missing != 1 || crm.Present+v.UnderWay != 3 {
		t.Errorf("%d %+v", code, v)
	}

	if v, code := verify("--since",
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339)); v.Leads != 0 || code != 0 {
		t.Errorf("since later: %d %+v", code, v)
	}

	// The CMS loses a document. A lead that was delivered a moment ago may not be visible
	// yet, and is not resent.
	s.Stubs.CMS.Unpublish("quoteSubmission." + arrived)

	apptest.Eventually(t, "it is found missing", func() bool {
		v, code = verify()
		return code == 2 && v.Targets[0].Missing == 2 && v.Targets[1].Present == 3
	})

	if v, code := verify("--fix"); code != 2 || v.Targets[0].Missing != 2 || v.Targets[0].Resent != 2 {
		t.Errorf("fixing: %d %+v", code, v)
	}
	for _, id := range []string{arrived, rejected} {
		if entry := `RESENT ` + id + ` {"target":"CMS"}`; !slices.Contains(s.AuditEntries(), entry) {
			t.Errorf("the audit lacks %s: %q", entry, s.AuditEntries())
		}
	}

	apptest.Eventually(t, "it is repaired", func() bool { _, code := verify(); return code == 0 })
	s.Arrives(arrived)
	s.Arrives(rejected)

	// An unavailable target is reported as an error, not as missing leads, and the other
	// target is still reported.
	s.Stubs.CMS.Fail(faulttest.Respond(503).Times(-1))
	if v, code := verify(); code != 1 || v.Targets[0].Error == "" || v.Targets[1].Present != 3 {
		t.Errorf("with the CMS unavailable: %d %+v", code, v)
	}
}

// More leads than fit into one request to a target are compared in batches.
func TestVerifyInBatches(t *testing.T) {
	t.Parallel()
	const leads = 230
	s := apptest.NewSite(t).Start()

	for i := range leads {
		s.Submit(fmt.Sprintf("batch-%d", i))
	}

	waitForLeads(s, leads)
	s.Prints("deliveries verify", fmt.Sprintf("leads                      %d", leads))
}

// A lead from before deals were turned on has none. The verification finds it, and creates
// its deal.
func TestDeliveriesVerifyDeals(t *testing.T) {
	t.Parallel()
	s := apptest.NewRemoteSite(t).Start()
	before := s.Submit("before")
	s.Arrives(before)
	s.Prints("deliveries verify", "missing                    0")
	s.Stop(t)

	s.Env = append(s.Env, "HUBSPOT_DEAL_STAGE=default/appointmentscheduled")
	s.Start()
	s.Arrives(s.Submit("after"))
	var v verified
	s.JSON(&v, "deliveries", "verify", "--fix")
	if cms, crm := v.Targets[0], v.Targets[1]; cms.Present != 2 || crm.Present != 1 || crm.Missing != 1 || crm.Resent != 1 {
		t.Errorf("%+v", v)
	}
	apptest.Eventually(t, "the deal is created", func() bool { return len(s.Stubs.CRM.Deals()) == 2 })
}
