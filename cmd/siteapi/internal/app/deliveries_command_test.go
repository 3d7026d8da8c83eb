package app

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/upstream/faulttest"
)

// troubled starts a site with a lead that arrived, one that the CMS has rejected, and one
// that waits because the CRM is away.
func troubled(t *testing.T) (s *site, arrived, rejected, waiting string) {
	t.Helper()
	s = newFarSite(t).start()
	arrived = s.submit("arrived")
	s.arrives(arrived)

	s.stubs.cms.Fail(faulttest.Answer(400).On("mutate"))
	rejected = s.submit("rejected")
	s.reaches(rejected, "cms", "failed")
	s.reaches(rejected, "crm", "delivered")

	s.stubs.crm.Fail(faulttest.Answer(503).Times(-1))
	waiting = s.submit("waiting")
	s.reaches(waiting, "cms", "delivered")
	s.reaches(waiting, "crm", "retrying")

	return s, arrived, rejected, waiting
}

func TestDeliveriesCommands(t *testing.T) {
	t.Parallel()
	s, arrived, rejected, waiting := troubled(t)
	number := func(id, target string) string { return fmt.Sprint(s.deliveriesOf(id)[target].ID) }
	failed, done := number(rejected, "cms"), number(arrived, "crm")

	for _, a := range []said{
		{"deliveries list",
			[]string{"ID", "TARGET", waiting, "HTTP 503", rejected, "HTTP 400"}, []string{arrived}},
		{"deliveries list --state all", []string{waiting, rejected, arrived}, nil},
		{"deliveries list --state failed", []string{rejected}, []string{waiting, arrived}},
		{"deliveries list --state failed --state retrying,running",
			[]string{waiting, rejected}, []string{arrived}},
		{"deliveries list --state failed,retrying,running --target crm",
			[]string{waiting}, []string{rejected}},
		{"deliveries list --state delivered --limit 1", []string{waiting, "--limit 0 lists all"}, []string{arrived}},
		{"deliveries list --state all --submission " + arrived, []string{"delivered"}, []string{rejected}},
		{"deliveries list --state failed --json",
			[]string{`"attemptCount": 1`, `"id": "` + rejected + `"`}, []string{waiting}},
		{"deliveries list --submission none", []string{"no deliveries"}, nil},
		{"deliveries list --submission none --json", []string{"[]"}, nil},
		{"deliveries list --state all --submission " + lead.Reference(rejected), []string{"crm"}, []string{arrived}},
		{"leads list", []string{"under-way", "failed", "delivered"}, nil},
		{"deliveries", []string{"list", "resend", "retry", "verify"}, nil},
	} {
		s.says(a)
		if !strings.HasPrefix(a.args, "leads") {
			out, _ := s.run(strings.Fields(a.args)...)
			noPersonalData(t, out)
		}
	}

	// What the list prints can be typed, and a program gets errors whole.
	long := strings.Repeat("of a long reason ", 8) + "its end"
	s.stubs.cms.Fail(faulttest.Answer(400).On("mutate").With(`{"error":{"description":"` + long + `"}}`))
	explained := s.submit("explained")
	s.reaches(explained, "cms", "failed")
	s.says(
		said{"deliveries list --target cms", []string{"failed", explained, "its end"}, nil},
		said{"deliveries list --target visitor_mail --state not_sent", []string{"no deliveries"}, nil},
	)

	s.refuses(map[string]string{
		"deliveries list --state lost": "must be one of pending, running, retrying, " +
			"failed, delivered, not-sent",
		"deliveries list --target fax":                       "must be one of cms, crm, webhook, visitor-mail, sales-mail",
		"deliveries list failed":                             "one argument too many",
		"deliveries retry":                                   "give <ids> …",
		"deliveries retry one":                               "There is no delivery one",
		"deliveries retry 123456":                            "There is no delivery 123456",
		"deliveries retry --all " + failed:                   "give <ids> …",
		"deliveries resend " + arrived:                       `"target" not set`,
		"deliveries resend " + arrived + " --target webhook": "it is not set up",
		"deliveries verify --since yesterday":                "must be a duration",
		"deliveries verify --target fax":                     "must be one of cms, crm, webhook, visitor-mail, sales-mail",
	})

	s.stubs.recover()
	s.says(
		said{"deliveries retry " + failed, []string{"1"}, nil},
		said{"deliveries retry --all --target cms", nil, nil},
		// A repeated delivery changes nothing at the CRM.
		said{"deliveries retry " + done, []string{"1"}, nil},
	)

	s.arrives(rejected)
	s.arrives(waiting)
	s.arrives(arrived)

	// What is changed where no service runs is done when one starts.
	bot := newLead("bot")
	bot["website"] = "https://spam.example"
	bot["consents"] = []any{object{"purpose": "marketing", "given": true}}
	_, answer := s.post("/api/quote/submit", bot)
	held, _ := answer["submissionId"].(string)
	s.stop(t)
	s.says(
		said{"deliveries retry " + done, []string{"1"}, nil},
		said{"deliveries resend " + arrived + " --target crm", []string{lead.Reference(arrived)}, nil},
		said{"leads release " + held, []string{"changed                    1"}, nil},
		said{"leads withdraw " + held + " --purpose marketing", []string{"once the service runs, it tells the CMS and the CRM"}, nil},
	)
	s.start()
	s.arrives(arrived)
	s.arrives(held)

	s.stubs.crm.Remove("arrived@example.com")
	s.says(said{"deliveries resend " + lead.Reference(arrived) + " --target crm",
		[]string{lead.Reference(arrived)}, nil})
	eventually(t, "it is sent again", func() bool {
		return len(s.stubs.contacts("arrived@example.com")) == 1
	})

	for session, id := range map[string]string{"arrived": arrived, "rejected": rejected, "waiting": waiting} {
		s.stubs.checkLead(t, session, id)
	}
}

// verified is the report of `deliveries verify`.
type verified struct {
	Submissions int
	Targets     []struct {
		Target                             string
		Present, UnderWay, Missing, Resent int
		Error                              string
	}
}

func TestDeliveriesVerify(t *testing.T) {
	t.Parallel()
	s, arrived, rejected, _ := troubled(t)
	verify := func(args ...string) (v verified, code int) {
		t.Helper()
		out, code := s.run(append([]string{"deliveries", "verify", "--json"}, args...)...)
		readJSON(t, out, &v)
		noPersonalData(t, out)
		return v, code
	}

	s.stubs.recover()
	// A failed delivery is missing; a waiting one is under way or has arrived by now.
	v, code := verify()
	if cms, crm := v.Targets[0], v.Targets[1]; code != 2 || v.Submissions != 3 ||
		cms.Present != 2 || cms.Missing != 1 || crm.Present+crm.UnderWay != 3 {
		t.Errorf("%d %+v", code, v)
	}

	if v, code := verify("--target", "crm"); len(v.Targets) != 1 || code != 0 {
		t.Errorf("the CRM alone: %d %+v", code, v)
	}
	if v, code := verify("--since",
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339)); v.Submissions != 0 || code != 0 {
		t.Errorf("since later: %d %+v", code, v)
	}

	// The targets lose what had arrived. A lead that was delivered a moment ago may not
	// be visible yet, and is not resent.
	docs := s.stubs.cms.Documents()
	delete(docs, "quoteSubmission."+arrived)
	var left []json.RawMessage
	for _, raw := range docs {
		left = append(left, raw)
	}
	if err := s.stubs.cms.Replace(left...); err != nil {
		t.Fatal(err)
	}

	eventually(t, "it is found missing", func() bool {
		v, code = verify()
		return code == 2 && v.Targets[0].Missing == 2 && v.Targets[1].Present == 3
	})

	if out, code := s.run("deliveries", "verify"); code != 2 ||
		!strings.Contains(out, "3 submissions compared") || !strings.Contains(out, "--fix") {
		t.Errorf("the table: %d %s", code, out)
	}

	if v, code := verify("--fix"); code != 2 || v.Targets[0].Missing != 2 || v.Targets[0].Resent != 2 {
		t.Errorf("fixing: %d %+v", code, v)
	}
	for _, id := range []string{arrived, rejected} {
		if entry := `RESENT ` + id + ` {"target":"cms"}`; !slices.Contains(s.recorded(), entry) {
			t.Errorf("the audit lacks %s: %q", entry, s.recorded())
		}
	}

	eventually(t, "it is repaired", func() bool { _, code := verify(); return code == 0 })
	s.arrives(arrived)
	s.arrives(rejected)

	// A target that can't answer is an error, not a finding, and the other target is
	// still reported.
	s.stubs.cms.Fail(faulttest.Answer(503).Times(-1))
	if v, code := verify(); code != 1 || v.Targets[0].Error == "" || v.Targets[1].Present != 3 {
		t.Errorf("with the CMS away: %d %+v", code, v)
	}
}

// More leads than fit into one request to a target are compared too.
func TestVerifyInBatches(t *testing.T) {
	t.Parallel()
	const leads = 230
	s := newSite(t).start()

	for i := range leads {
		s.submit(fmt.Sprintf("batch-%d", i))
	}

	files := &service{t: t, dataDir: s.dir}
	eventually(t, "all arrive", func() bool {
		return len(files.files("cms")) == leads && len(files.files("crm")) == leads
	})
	s.says(said{"deliveries verify", []string{fmt.Sprintf("%d submissions compared", leads)}, nil})
}
