package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// TestKilledDuringEveryFault submits to the real binary while both far ends fail, kills
// it once it has met both failures, and starts it again after they have recovered.
func TestKilledDuringEveryFault(t *testing.T) {
	t.Parallel()
	// Most of a case is waiting, so there are more at a time than processors.
	const atATime = 5
	var group sync.WaitGroup
	free := make(chan struct{}, atATime)
	for _, row := range faultTable() {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			t.Run(row.name, func(t *testing.T) { killedCase(t, row) })
		})
	}
	group.Wait()
}

func killedCase(t *testing.T, row fault) {
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	dir := t.TempDir()
	env := far.environ(map[string]string{"DELIVERY_RETRY_MAX": "1s"})
	row.cms.On, row.cms.Times = "mutate", always
	far.cms.Fail(row.cms)
	far.crm.Fail(row.crm.On("POST", "/objects/contacts").Times(-1))
	first := launch(t, dir, env...)
	status, answer := first.post("/api/quote/submit", lead("killed"))
	id, _ := answer["submissionId"].(string)
	if status != http.StatusOK || id == "" {
		t.Fatalf("submitting: %d %v", status, answer)
	}
	eventually(t, "both faults are met", func() bool {
		inCMS, inCRM := far.faults()
		return inCMS > 0 && inCRM > 0
	})
	if err := first.end(syscall.SIGKILL); err == nil {
		t.Fatal("the process was not killed")
	}
	far.recover()
	launch(t, dir, env...)
	if row.parked == "failed" || row.name == "daily limit" {
		if out, code := command(t, append(env, "ENVIRONMENT=development", "DATA_DIR="+dir), "deliveries", "retry", "--all"); code != 0 {
			t.Fatalf("retrying: %d %s", code, out)
		}
	}
	eventually(t, "both deliveries are made", func() bool {
		out, _ := command(t, append(env, "ENVIRONMENT=development", "DATA_DIR="+dir), "deliveries", "list", "--json", "--state", "delivered")
		var list []deliveryView
		return json.Unmarshal([]byte(out), &list) == nil && len(list) == 2
	})
	far.checkLead(t, "killed", id)
}

// TestWrongTokens: they stop the noise and not the leads, which an operator sees and
// sends on their way once the tokens are right.
func TestWrongTokens(t *testing.T) {
	t.Parallel()
	const leads = 12
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	dir := t.TempDir()
	wrong := far.environ(map[string]string{"SANITY_TOKEN": "wrong-cms-token", "HUBSPOT_TOKEN": "wrong-crm-token"})
	operator := func(args ...string) (string, int) {
		return command(t, append(far.environ(), "ENVIRONMENT=development", "DATA_DIR="+dir), args...)
	}
	states := func() map[string]int {
		out, _ := operator("deliveries", "list", "--json", "--state", "all")
		var list []deliveryView
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Errorf("not JSON: %s", out)
		}
		n := map[string]int{}
		for _, d := range list {
			n[d.State]++
			if d.Held != "" {
				n["held"]++
			}
		}
		return n
	}
	first := launch(t, dir, wrong...)
	ids := map[string]string{}
	for i := range leads {
		session := "token-" + string(rune('a'+i))
		_, answer := first.post("/api/quote/submit", lead(session))
		ids[session], _ = answer["submissionId"].(string)
	}
	eventually(t, "all deliveries wait", func() bool {
		n := states()
		return n["retrying"] > 0 && n["held"]+n["retrying"] >= 2*leads && n["running"] == 0
	})
	calls := func() int {
		n := len(far.crm.Requests())
		for _, r := range far.cms.Requests() {
			if r.API == "mutate" {
				n++
			}
		}
		return n
	}
	// As many as were tried at the same moment.
	if n := calls(); n > cmsConcurrency+crmConcurrency {
		t.Errorf("%d calls were made with refused tokens", n)
	}
	out, code := operator("deliveries", "list")
	if code != 0 || strings.Count(out, "refused (HTTP 401)") != 2*leads {
		t.Errorf("the operator is not told: %d\n%s", code, out)
	}
	for _, secret := range []string{"wrong-c", "@", "Ana", "Ionescu", "721 000", "721000"} {
		if strings.Contains(out, secret) {
			t.Errorf("the list holds %q:\n%s", secret, out)
		}
	}
	if err := first.end(syscall.SIGTERM); err != nil {
		t.Errorf("stopping: %v", err)
	}
	launch(t, dir, far.environ()...)
	if n := states(); n["delivered"] == 2*leads {
		t.Error("nothing was left for the operator to do: the test does not show what it should")
	}
	if out, code := operator("deliveries", "retry", "--all"); code != 0 || !strings.Contains(out, "due now") {
		t.Errorf("retrying: %d %s", code, out)
	}
	eventually(t, "everything arrives", func() bool { return states()["delivered"] == 2*leads })
	for session, id := range ids {
		far.checkLead(t, session, id)
	}
}
