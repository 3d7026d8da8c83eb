package leads

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/app"
	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/integrations/upstream"
	"siteapi/schema"
)

// A withdrawal is answered while an attempt is running that read the lead before it, and
// reaches CMS and CRM after that, also if the service ends in between.
func TestWithdrawalDuringDelivery(t *testing.T) {
	t.Parallel()
	for _, target := range []lead.Target{lead.CMS, lead.CRM} {
		reading, end, slow := firstAttempt(t, target)
		s := apptest.Start(t, nil, apptest.Quick, slow)
		submitAt(s, t, "ana-maria", time.Hour, lead.Consent{Purpose: "news", Given: true, SiteWording: true})
		<-reading

		_, code := s.Operates(schema.RoleSales, `mutation { withdrawConsent(id: "ana-maria", purpose: "news") { lead { state } } }`)
		close(end)
		if code != "" {
			t.Errorf("%s: withdrawing: %s", target, code)
		}
		s.Stop()
		s.Start()
		apptest.Eventually(t, "the CMS is told", func() bool { return fileHas(s, "cms", "withdrawnAt") })
		apptest.Eventually(t, "the CRM is told", func() bool { return fileHas(s, "crm", "news: withdrawn") })
	}
}

// firstAttempt has the first delivery to a target wait for end once it has read its lead.
func firstAttempt(t *testing.T, target lead.Target) (reading, end chan struct{}, slow func(*app.Deliveries)) {
	reading, end = make(chan struct{}), make(chan struct{})
	var first sync.Once
	return reading, end, func(d *app.Deliveries) {
		send := d.Senders[target]
		d.Senders[target] = func(ctx context.Context, try *queue.Try) error {
			first.Do(func() {
				close(reading)
				select {
				case <-end:
				case <-ctx.Done():
					t.Errorf("%s: the withdrawal waited for the attempt", target)
				}
			})
			return send(ctx, try)
		}
	}
}

// A copy that is made while the CRM is down, of a lead that changed meanwhile, delivers it as
// it is now.
func TestCopyDelivers(t *testing.T) {
	t.Parallel()
	url := pgserver.Start(t).NewDatabase(t)
	s := apptest.Start(t, nil, apptest.Quick, func(d *app.Deliveries) {
		d.Senders[lead.CRM] = func(context.Context, *queue.Try) error {
			return &upstream.Error{System: "crm", Op: "writing", Kind: upstream.Unavailable}
		}
	})
	submitAt(s, t, "ana-maria", time.Hour,
		lead.Consent{Purpose: "news", Given: true, SiteWording: true},
		lead.Consent{Purpose: "calls", Given: true, SiteWording: true})
	apptest.Eventually(t, "the CRM refuses it", func() bool {
		return s.Deliveries("ana-maria")[lead.CRM].State == lead.Retrying
	})
	s.Stop()

	env := []string{"ENVIRONMENT=development", "DATA_DIR=" + s.DataDir}
	for _, purpose := range []string{"news", "calls"} {
		if out, code := apptest.Command(t, env, "leads", "withdraw", "ana-maria", "--purpose", purpose); code != 0 {
			t.Fatal(out)
		}
	}
	if out, code := apptest.Command(t, append(env, "DATABASE_URL="+url), "store", "copy"); code != 0 {
		t.Fatal(out)
	}
	moved := apptest.Start(t, map[string]string{"DATABASE_URL": url})
	apptest.Eventually(t, "the CRM is told", func() bool { return fileHas(moved, "crm", "calls: withdrawn") })
}

// fileHas reports whether a file that a driver wrote contains a text.
func fileHas(s *apptest.Service, dir, text string) bool {
	for _, name := range s.Files(dir) {
		data, err := os.ReadFile(filepath.Join(s.DataDir, dir, name))
		if err == nil && strings.Contains(string(data), text) {
			return true
		}
	}
	return false
}

// The consent to keep what is typed can be withdrawn by somebody who gave it while typing, with
// or without a lead, and again after it was given again.
func TestWithdrawalOfSavedProgress(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)
	withdraw := func(address string) (out string, withdrawn bool) {
		t.Helper()
		out, err := s.Command("leads", "withdraw", address, "--purpose", "save_progress")
		if err != nil && !strings.Contains(err.Error(), "has not given this consent") {
			t.Error(err)
		}
		return out, err == nil
	}
	audited := func() (n int) {
		t.Helper()
		entries, err := s.App.Data.Tables.AuditEntries(t.Context(), store.AuditFilter{Limit: 100})
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			if e.Action == string(schema.AuditActionWithdrawn) && strings.Contains(e.Detail, "save_progress") {
				n++
			}
		}
		return n
	}

	submitAt(s, t, "has-lead", 48*time.Hour)
	agreed := lead.Consent{Purpose: lead.SaveProgress, Given: true}
	submitAt(s, t, "again", 48*time.Hour, agreed)
	if out, ok := withdraw("again@example.com"); !ok || !strings.Contains(out, "leads                      1") ||
		!strings.Contains(out, "sessions                   0") {
		t.Errorf("the consent of a lead: %v %s", ok, out)
	}

	for i, session := range []string{"has-lead", "again", "stranger"} {
		s.Through("REST", "trackQuote", object{"input": visitorState(session, true)})
		out, ok := withdraw(session + "@example.com")
		if !ok || !strings.Contains(out, "sessions                   1") {
			t.Errorf("%s: %v %s", session, ok, out)
		}
		stored, err := s.App.Data.Quotes.Session(t.Context(), session)
		if err != nil || stored.Hints != (lead.Hints{}) {
			t.Errorf("%s: %+v, %v", session, stored.Hints, err)
		}
		if out, ok := withdraw(session + "@example.com"); ok {
			t.Errorf("%s is withdrawn twice: %s", session, out)
		}
		if n := audited(); n != i+2 {
			t.Errorf("the audit has %d entries after %s, want %d", n, session, i+2)
		}
	}

	// In GraphQL a lead names the address.
	s.Through("REST", "trackQuote", object{"input": visitorState("has-lead", true)})
	const operation = `mutation { withdrawConsent(id: "has-lead", purpose: "save_progress") { lead { state } } }`
	if _, code := s.Operates(schema.RoleSales, operation); code != "" {
		t.Error(code)
	}
	if _, code := s.Operates(schema.RoleSales, operation); code != string(schema.CodeBadUserInput) {
		t.Errorf("again: %q", code)
	}
}

// visitorState is a state of the calculator with an e-mail address, and what the visitor
// says to its being kept.
func visitorState(session string, answers ...bool) object {
	consents := []any{}
	for _, given := range answers {
		consents = append(consents, object{"purpose": "save_progress", "given": given, "text": "Keep it."})
	}
	return object{
		"sessionId":   session,
		"selections":  object{"projectType": "web-app", "features": []any{"blog"}},
		"estimate":    object{"min": 100, "max": 200.5, "currency": "EUR"},
		"formData":    object{"email": session + "@example.com", "firstName": "Ana"},
		"attribution": object{"source": "newsletter"},
		"locale":      "ro",
		"consents":    consents,
	}
}
