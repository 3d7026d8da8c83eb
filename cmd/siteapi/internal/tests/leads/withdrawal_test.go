package leads

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/integrations/upstream/faulttest"
	"siteapi/schema"
)

// A withdrawal is answered while an attempt is running that read the lead before it, and
// reaches CMS and CRM after that, also if the service ends in between.
func TestWithdrawalDuringDelivery(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"SANITY_API_URL", "HUBSPOT_API_URL"} {
		vendors := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
		env := vendors.Env()
		reading, end := make(chan struct{}), make(chan struct{})
		env[setting] = slowFirst(t, env[setting], "ana-maria", reading, end)
		s := apptest.Start(t, env, apptest.Quick)
		submitAt(s, t, "ana-maria", time.Hour, lead.Consent{Purpose: "news", Given: true, SiteWording: true})
		<-reading

		_, code := s.Operates(schema.RoleSales, `mutation { withdrawConsent(id: "ana-maria", purpose: "news") { lead { state } } }`)
		close(end)
		if code != "" {
			t.Errorf("%s: withdrawing: %s", setting, code)
		}
		s.Stop()
		s.Start()
		apptest.Eventually(t, "the CMS is told", func() bool {
			return strings.Contains(string(vendors.CMS.Documents()["quoteSubmission.ana-maria"]), "withdrawnAt")
		})
		apptest.Eventually(t, "the CRM is told", func() bool { return inCRM(vendors, "news: withdrawn") })
	}
}

// slowFirst passes requests on to a server. The first one that mentions a text waits for end.
func slowFirst(t *testing.T, server, text string, reading, end chan struct{}) string {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(target)

	var first sync.Once
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte(text)) {
			first.Do(func() {
				close(reading)
				select {
				case <-end:
				case <-r.Context().Done():
					t.Error("the withdrawal waited for the attempt")
				}
			})
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// inCRM reports whether a property of the lead's contact contains a text.
func inCRM(vendors *apptest.Vendors, text string) bool {
	contact, _ := vendors.CRM.Contact("ana-maria@example.com")
	for _, value := range contact.Properties {
		if strings.Contains(value, text) {
			return true
		}
	}
	return false
}

// A copy that is made while the CRM is down, of a lead that changed meanwhile, delivers it as
// it is now.
func TestCopyDelivers(t *testing.T) {
	t.Parallel()
	url := pgserver.Start(t).NewDatabase(t)
	vendors := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
	vendors.CRM.Fail(faulttest.Answer(503).Times(-1))
	s := apptest.Start(t, vendors.Env(), apptest.Quick)
	submitAt(s, t, "ana-maria", time.Hour,
		lead.Consent{Purpose: "news", Given: true, SiteWording: true},
		lead.Consent{Purpose: "calls", Given: true, SiteWording: true})
	apptest.Eventually(t, "the CRM refuses it", func() bool {
		return s.Deliveries("ana-maria")[lead.CRM].State == lead.Retrying
	})
	s.Stop()

	env := []string{"ENVIRONMENT=development", "DATA_DIR=" + s.DataDir}
	for name, value := range vendors.Env() {
		env = append(env, name+"="+value)
	}
	for _, purpose := range []string{"news", "calls"} {
		if out, code := apptest.Command(t, env, "leads", "withdraw", "ana-maria", "--purpose", purpose); code != 0 {
			t.Fatal(out)
		}
	}
	if out, code := apptest.Command(t, append(env, "DATABASE_URL="+url), "store", "copy"); code != 0 {
		t.Fatal(out)
	}
	vendors.CRM.Recover()
	apptest.Start(t, vendors.Env(map[string]string{"DATABASE_URL": url}))
	apptest.Eventually(t, "the CRM is told", func() bool { return inCRM(vendors, "calls: withdrawn") })
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
