package leads

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream/faulttest"
	"siteapi/schema"
)

// TestOutcomesOfTheCRM: the service asks HubSpot what became of leads, and tells it nothing.
func TestOutcomesOfTheCRM(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		admin := apptest.FreeAddress(t)
		s := apptest.NewFarSite(t, "ADMIN_ADDR="+admin, "DATABASE_URL="+database)
		p := &pulled{Site: s, crm: s.Stubs.CRM, admin: "http://" + admin}
		p.byItself(t)
		p.contacts(t)
		p.faults(t)
	})
}

// pulled is a site whose CRM knows what became of its leads.
type pulled struct {
	*apptest.Site
	crm   *hubspottest.Server
	admin string
}

// pull asks the CRM now, once a pull of the service is over.
func (p *pulled) pull() (out string, code int) {
	for range 50 {
		if out, code = p.Run("crm", "pull"); !strings.Contains(out, "another process") {
			return out, code
		}
		time.Sleep(100 * time.Millisecond)
	}
	return out, code
}

// outcome returns what became of a lead, as "value source".
func (p *pulled) outcome(id string) string {
	p.T.Helper()
	out, code := p.Run("leads", "show", "--json", id)
	var shown schema.Lead
	if err := json.Unmarshal([]byte(out), &shown); err != nil || code != 0 {
		p.T.Fatal(err, out)
	}
	if o := shown.Outcome; o != nil {
		return fmt.Sprint(o.Value, " ", o.Source)
	}
	return ""
}

// byItself: a running service asks soon after its first lead, and then not again for an
// hour, whether it is restarted or not.
func (p *pulled) byItself(t *testing.T) {
	p.crm.Add(map[string]string{"email": "zoe@example.com"})
	p.crm.Move("zoe@example.com", "lifecyclestage", "customer", time.Now().Add(time.Hour))
	p.Start()
	zoe := p.Submit("zoe")
	p.Arrives(zoe)
	apptest.Eventually(t, "the service asks", func() bool { return strings.Contains(p.Log.String(), "asked the CRM") })
	if got := p.outcome(zoe); got != "WON CRM" {
		t.Errorf("the service made it %q", got)
	}

	// A scrape lacks the gauges of a database that is busy.
	for _, want := range []string{
		"siteapi_crm_pull_seconds ",
		`siteapi_events_total{detail="WON",event="crm_outcome"} 1`,
		`siteapi_events_total{detail="complete",event="crm_pull"} 1`,
	} {
		apptest.Eventually(t, "/metrics has "+want, func() bool { return strings.Contains(p.metrics(), want) })
	}

	p.Stop(t)
	asked := p.searches()
	p.Start()
	p.Says(apptest.Said{Args: "doctor", Want: []string{"which set 1 outcomes"}, Not: nil})
	if n := p.searches(); n != asked {
		t.Errorf("after a restart it asked %d times more", n-asked)
	}
}

// metrics returns what a scrape of the service answers.
func (p *pulled) metrics() string {
	p.T.Helper()
	resp, err := http.Get(p.admin + "/metrics")
	if err != nil {
		p.T.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()

	metrics, _ := io.ReadAll(resp.Body)
	return string(metrics)
}

// searches returns how often the CRM was asked.
func (p *pulled) searches() (n int) {
	for _, r := range p.crm.Requests() {
		if strings.HasSuffix(r.Path, "/search") {
			n++
		}
	}
	return n
}

// contacts: only a change after the lead counts, on the newest lead of a person, unless an
// operator said otherwise.
func (p *pulled) contacts(t *testing.T) {
	at := func(name string) string { return name + "@example.com" }
	ids := map[string]string{}
	for _, name := range []string{"ana", "bob", "cyn", "dan", "eve", "fay", "gus"} {
		ids[name] = p.Submit(name)
		p.Arrives(ids[name])
	}
	second := apptest.NewLead("ana-again")
	second["contact"].(object)["email"] = at("ana")
	earlier, now := time.Now(), time.Now().Add(time.Minute)

	p.crm.Move(at("ana"), "lifecyclestage", "customer", earlier)
	p.crm.Move(at("bob"), "lifecyclestage", "opportunity", now)
	p.crm.Move(at("bob"), "hs_lead_status", "UNQUALIFIED", now.Add(time.Second))
	p.crm.Move(at("cyn"), "lifecyclestage", "customer", now.Add(-time.Hour)) // a customer before
	p.crm.Move(at("cyn"), "lifecyclestage", "customer", now)                 // and still one
	p.crm.Add(map[string]string{"email": at("boss")})
	p.crm.Move(at("boss"), "lifecyclestage", "salesqualifiedlead", now)
	p.crm.Move(at("dan"), "lifecyclestage", "customer", now)
	p.crm.Merge(at("dan"), at("boss"))
	p.crm.Move(at("eve"), "lifecyclestage", "customer", now)
	p.crm.Remove(at("eve"))
	p.Run("leads", "outcome", ids["fay"], "lost")
	p.crm.Move(at("fay"), "lifecyclestage", "customer", now)
	p.crm.Move(at("gus"), "lifecyclestage", "evangelist", now)

	before := len(p.crm.Requests())
	p.crm.Fail(hubspottest.Limited("SECONDLY", "1").On("POST /search"))
	if out, code := p.pull(); code != 0 || !strings.Contains(out, "3 outcomes were set") {
		t.Errorf("%d %s", code, out)
	}
	for _, r := range p.crm.Requests()[before:] {
		if !strings.HasSuffix(r.Path, "/search") && !strings.HasSuffix(r.Path, "/batch/read") {
			t.Errorf("the CRM was told something: %s %s", r.Method, r.Path)
		}
	}

	_, answer := p.Post("/api/quote/submit", second)
	again, _ := answer["submissionId"].(string)
	for name, want := range map[string]string{
		ids["ana"]: "WON CRM", again: "", ids["bob"]: "LOST CRM", ids["cyn"]: "", ids["dan"]: "QUALIFIED CRM",
		ids["eve"]: "", ids["fay"]: "LOST OPERATOR", ids["gus"]: "",
	} {
		if got := p.outcome(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}

	// Nothing new is nothing to do, and a new change is one of the newest lead.
	if out, code := p.pull(); code != 0 || !strings.Contains(out, "0 outcomes were set") {
		t.Errorf("once more: %d %s", code, out)
	}
	p.crm.Move(at("ana"), "hs_lead_status", "UNQUALIFIED", now.Add(time.Minute))
	if out, code := p.pull(); code != 0 || p.outcome(again) != "LOST CRM" || p.outcome(ids["ana"]) != "WON CRM" {
		t.Errorf("the newest lead: %d %s %q %q", code, out, p.outcome(again), p.outcome(ids["ana"]))
	}
}

// faults: a pull that fails loses nothing, and the doctor says why it failed.
func (p *pulled) faults(t *testing.T) {
	id := p.Submit("hal")
	p.Arrives(id)
	p.crm.Move("hal@example.com", "lifecyclestage", "opportunity", time.Now().Add(time.Minute))

	for name, fault := range map[string]faulttest.Fault{
		"5xx":          faulttest.Answer(503).On("POST /search"),
		"5xx later":    faulttest.Answer(502).On("POST /batch/read"),
		"garbage":      hubspottest.Garbage().On("POST /search"),
		"day's limit":  hubspottest.Limited("DAILY", "3600").On("POST /search"),
		"no right":     faulttest.Answer(403).On("POST /search"),
		"reset midway": faulttest.Of(faulttest.Reset).On("POST /batch/read").Times(-1),
	} {
		p.crm.Fail(fault)
		if out, code := p.pull(); code != 1 {
			t.Errorf("%s: %d %s", name, code, out)
		}
		if out, _ := p.Run("doctor"); !strings.Contains(out, "what became of leads failed: hubspot") {
			t.Errorf("%s: the doctor says %s", name, out)
		}
		p.crm.Recover()
		if got := p.outcome(id); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}

	if out, code := p.pull(); code != 0 || p.outcome(id) != "QUALIFIED CRM" {
		t.Errorf("after the faults: %d %s %q", code, out, p.outcome(id))
	}
}
