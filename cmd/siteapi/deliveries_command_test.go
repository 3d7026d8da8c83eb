package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// troubled is a service with a lead that arrived, one that the CMS has rejected, and one
// that waits because the CRM is away.
func troubled(t *testing.T) (s *service, far *farEnds, arrived, rejected, waiting string) {
	t.Helper()
	far = newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s = startService(t, far.env())
	is := func(id, target, state string) {
		t.Helper()
		eventually(t, "the "+target+" delivery is "+state, func() bool { return s.deliveries(id)[target].State == state })
	}
	arrived = s.submit(t, "arrived")
	is(arrived, "cms", "delivered")
	is(arrived, "crm", "delivered")
	far.cms.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 400, On: "mutate"})
	rejected = s.submit(t, "rejected")
	is(rejected, "cms", "failed")
	is(rejected, "crm", "delivered")
	far.crm.Fail(hubspottest.Answer(401, nil).Times(-1))
	waiting = s.submit(t, "waiting")
	is(waiting, "cms", "delivered")
	is(waiting, "crm", "retrying")
	return s, far, arrived, rejected, waiting
}

// noPersonalData fails if an output names a visitor.
func noPersonalData(t *testing.T, out string) {
	t.Helper()
	for _, part := range []string{"@", "Ana", "Ionescu", "721 000", "721000", "Țară"} {
		if strings.Contains(out, part) {
			t.Errorf("%q is in\n%s", part, out)
		}
	}
}

func TestDeliveriesCommands(t *testing.T) {
	t.Parallel()
	s, _, arrived, rejected, waiting := troubled(t)
	byID := func(id, target string) string { return fmt.Sprint(s.deliveries(id)[target].ID) }
	failed, parked, done := byID(rejected, "cms"), byID(waiting, "crm"), byID(arrived, "crm")
	tests := []struct {
		args string
		want []string // all of these
		not  []string // none of these
	}{
		{"deliveries list", []string{"ID", "TARGET", failed + " ", parked + " ", "rejected (HTTP 400)", "refused (HTTP 401)",
			"cms: 1 failed", "crm: 1 retrying"}, []string{arrived}},
		{"deliveries list --state all", []string{arrived, rejected, waiting}, nil},
		{"deliveries list --state failed", []string{rejected}, []string{waiting, arrived}},
		{"deliveries list --state failed,retrying --target crm", []string{waiting}, []string{rejected}},
		{"deliveries list --state delivered --limit 1", []string{arrived, "the 1 oldest"}, []string{waiting}},
		{"deliveries list --state delivered --limit 0", []string{arrived, waiting, rejected}, []string{"oldest are"}},
		{"deliveries list --submission " + arrived, []string{"delivered"}, []string{rejected}},
		{"deliveries list --submission none", []string{"no deliveries"}, nil},
		{"deliveries list --state failed --json", []string{`"submission": "` + rejected + `"`, `"number": 1`}, []string{waiting}},
		{"deliveries list --submission none --json", []string{"[]"}, nil},
		{"deliveries show " + failed, []string{"submission  " + rejected, "state       failed", "finished", "failed tries:", "1  20", "HTTP 400"}, []string{"next try"}},
		{"deliveries show " + parked, []string{"target      crm", "next try", "refused (HTTP 401)"}, []string{"finished"}},
		{"deliveries show " + rejected, []string{"target      cms", "target      crm", "failed tries:"}, nil},
		{"deliveries show --json " + failed, []string{`"state": "failed"`}, nil},
		{"deliveries verify --target cms --since 1d", []string{"3 submissions compared"}, nil},
		{"deliveries", []string{"list", "show", "retry", "verify"}, nil},
	}
	for _, tt := range tests {
		out, err := s.siteapi(strings.Fields(tt.args)...)
		if err != nil && !strings.Contains(tt.args, "verify") {
			t.Errorf("%s: %v", tt.args, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not say %q:\n%s", tt.args, want, out)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(out, not) {
				t.Errorf("%s says %q:\n%s", tt.args, not, out)
			}
		}
		noPersonalData(t, out)
	}
	errors := map[string]string{
		"deliveries list --state lost":              "must be one of pending, running, retrying, delivered, failed, all",
		"deliveries list --target fax":              "must be cms or crm",
		"deliveries list --limit -1":                "must not be negative",
		"deliveries list failed":                    "one argument too many",
		"deliveries show":                           "name one delivery",
		"deliveries show 1 2":                       "name one delivery",
		"deliveries show 123456":                    "there is no delivery",
		"deliveries retry":                          "name deliveries, or say --all",
		"deliveries retry one":                      "first column",
		"deliveries retry 123456":                   "there is no delivery 123456",
		"deliveries retry --all " + failed:          "not both",
		"deliveries retry --state failed " + failed: "go with --all",
		"deliveries retry --all --state delivered":  "verify --fix",
		"deliveries retry --all --target fax":       "must be cms or crm",
		"deliveries verify --since yesterday":       "must be a duration",
		"deliveries verify --target fax":            "must be cms or crm",
		"deliveries verify now":                     "one argument too many",
		"deliveries mend":                           "there is no command",
		"crm set-up":                                "there is no command",
	}
	for args, want := range errors {
		if out, err := s.siteapi(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q\n%s", args, err, want, out)
		}
	}
	if d := s.deliveries(arrived)["crm"]; d.State != "delivered" || fmt.Sprint(d.ID) != done {
		t.Errorf("looking changed %+v", d)
	}
}

func TestDeliveriesRetry(t *testing.T) {
	t.Parallel()
	s, far, arrived, rejected, waiting := troubled(t)
	id := fmt.Sprint(s.deliveries(rejected)["cms"].ID)
	if out, err := s.siteapi("deliveries", "retry", id); err != nil || !strings.Contains(out, "delivery "+id+" is due now") {
		t.Errorf("%v %s", err, out)
	}
	eventually(t, "the rejected lead arrives", func() bool { return s.deliveries(rejected)["cms"].State == "delivered" })
	far.recover()
	if out, err := s.siteapi("deliveries", "retry", "--all", "--target", "cms"); err != nil || out != "nothing to retry\n" {
		t.Errorf("%v %s", err, out)
	}
	if d := s.deliveries(waiting)["crm"]; d.State != "retrying" {
		t.Errorf("a retry of the other target touched %+v", d)
	}
	if out, err := s.siteapi("deliveries", "retry", "--all", "--state", "retrying"); err != nil || !strings.Contains(out, "1 deliveries are due now (cms: 0, crm: 1)") {
		t.Errorf("%v %s", err, out)
	}
	eventually(t, "the waiting lead arrives", func() bool { return s.deliveries(waiting)["crm"].State == "delivered" })
	// What arrived may be sent again by name: it changes nothing at the far end.
	if out, err := s.siteapi("deliveries", "retry", fmt.Sprint(s.deliveries(arrived)["crm"].ID)); err != nil {
		t.Errorf("%v %s", err, out)
	}
	eventually(t, "it arrives again", func() bool { return s.deliveries(arrived)["crm"].State == "delivered" })
	for session, id := range map[string]string{"arrived": arrived, "rejected": rejected, "waiting": waiting} {
		far.checkLead(t, session, id)
	}
}

func TestDeliveriesVerify(t *testing.T) {
	t.Parallel()
	s, far, arrived, rejected, waiting := troubled(t)
	verify := func(args ...string) (auditReport, error) {
		t.Helper()
		out, err := s.siteapi(append([]string{"deliveries", "verify", "--json"}, args...)...)
		var r auditReport
		if json.Unmarshal([]byte(out), &r) != nil {
			t.Fatalf("not JSON: %v %s", err, out)
		}
		noPersonalData(t, out)
		return r, err
	}
	far.recover()
	// The CRM's delivery that waits is under way and no finding; the CMS's that failed is.
	r, err := verify()
	if r.Submissions != 3 || r.Targets[0].Present != 2 || r.Targets[0].Missing != 1 || r.Targets[1].Missing != 0 || exitCode(err) != exitFound {
		t.Errorf("got %+v %v", r, err)
	}
	if r, err := verify("--target", "crm"); len(r.Targets) != 1 || err != nil {
		t.Errorf("the CRM alone: %+v %v", r, err)
	}
	if r, err := verify("--since", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)); r.Submissions != 0 || err != nil {
		t.Errorf("since later: %+v %v", r, err)
	}
	if out, err := s.siteapi("deliveries", "verify"); err == nil || !strings.Contains(out, "3 submissions compared") || !strings.Contains(out, "UNDER WAY") {
		t.Errorf("the table: %v %s", err, out)
	}
	// Somebody deletes what had arrived.
	docs := far.cms.Documents()
	delete(docs, "quoteSubmission."+arrived)
	var left []json.RawMessage
	for _, raw := range docs {
		left = append(left, raw)
	}
	if err := far.cms.Replace(left...); err != nil {
		t.Fatal(err)
	}
	far.crm.Remove("arrived@example.com")
	// What was delivered a moment ago may not show yet, and is left alone that long.
	eventually(t, "it is found missing", func() bool {
		r, _ = verify()
		return r.Targets[0].Missing == 2 && r.Targets[1].Missing == 1
	})
	r, err = verify("--fix")
	if r.Targets[0].Resent != 2 || r.Targets[1].Resent != 1 || exitCode(err) != exitFound {
		t.Errorf("fixing: got %+v %v", r, err)
	}
	eventually(t, "it is mended", func() bool {
		r, err = verify()
		return err == nil && r.Targets[0].Present == 3 && r.Targets[1].Present == 2+map[bool]int{true: 1}[r.Targets[1].UnderWay == 0]
	})
	if list, err := s.siteapi("deliveries", "list", "--json", "--state", "failed"); err != nil || strings.TrimSpace(list) != "[]" {
		t.Errorf("a failed delivery was repeated beside itself: %v %s", err, list)
	}
	if out, err := s.siteapi("deliveries", "retry", "--all"); err != nil {
		t.Errorf("%v %s", err, out)
	}
	eventually(t, "all leads are there", func() bool {
		return len(far.documents("arrived")) == 1 && len(far.contacts("arrived@example.com")) == 1 && len(far.contacts("waiting@example.com")) == 1
	})
	for session, id := range map[string]string{"arrived": arrived, "rejected": rejected, "waiting": waiting} {
		far.checkLead(t, session, id)
	}
	// A side that can't answer is an error and not a finding, and hides nothing of the other.
	far.cms.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 503, Times: always})
	r, err = verify()
	if r.Targets[0].Error == "" || r.Targets[1].Present != 3 || exitCode(err) != exitFailed || err == nil {
		t.Errorf("with the CMS away: %+v %v", r, err)
	}
}

// TestVerifyInBatches compares more submissions than fit into one question.
func TestVerifyInBatches(t *testing.T) {
	t.Parallel()
	const leads = 2*auditBatch + 30
	s := startService(t, nil)
	for i := range leads {
		s.submit(t, fmt.Sprintf("batch-%d", i))
	}
	eventually(t, "all arrive", func() bool { return len(s.files("cms")) == leads && len(s.files("crm")) == leads })
	eventually(t, "nothing is missing", func() bool {
		out, err := s.siteapi("deliveries", "verify")
		return err == nil && strings.Contains(out, fmt.Sprintf("%d submissions compared", leads))
	})
}

func TestCommandsSayWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for args, want := range map[string]string{"deliveries list": "set DATA_DIR to the folder of the service", "deliveries verify": "set DATA_DIR"} {
		out, code := command(t, []string{"ENVIRONMENT=development", "DATA_DIR=" + dir}, strings.Fields(args)...)
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s", args, code, out)
		}
	}
	if out, code := command(t, nil, "deliveries", "list"); code != exitFailed || !strings.Contains(out, "settings of the service they are for") {
		t.Errorf("without settings: %d %s", code, out)
	}
	r := launch(t, dir)
	if status, answer := r.post("/api/quote/submit", lead("code")); status != 200 {
		t.Fatal(answer)
	}
	env := []string{"ENVIRONMENT=development", "DATA_DIR=" + dir}
	s := &service{t: t, dataDir: dir}
	eventually(t, "the lead arrives", func() bool { return len(s.files("cms")) == 1 && len(s.files("crm")) == 1 })
	// Exit codes, as cron sees them.
	if out, code := command(t, env, "deliveries", "verify"); code != 0 {
		t.Errorf("with everything there: %d %s", code, out)
	}
	for _, name := range s.files("cms") {
		removeFile(t, dir, "cms", name)
	}
	eventually(t, "verify ends with 2", func() bool {
		out, code := command(t, env, "deliveries", "verify")
		return code == exitFound && strings.Contains(out, "--fix")
	})
	if out, code := command(t, env, "deliveries", "verify", "--fix"); code != exitFound || !strings.Contains(out, "were missing") {
		t.Errorf("fixing: %d %s", code, out)
	}
	eventually(t, "it is mended", func() bool {
		_, code := command(t, env, "deliveries", "verify")
		return code == 0 && len(s.files("cms")) == 1
	})
}
