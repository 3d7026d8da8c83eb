package leads

import (
	"bytes"
	"fmt"
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
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// A withdrawal does not wait for a running attempt that has already read the lead. It
// reaches the CMS and the CRM afterward, even if the service stops in between.
func TestWithdrawalDuringDelivery(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"SANITY_API_URL", "HUBSPOT_API_URL"} {
		vendors := apptest.NewVendors(t)
		address := apptest.Lookup(vendors.Env())(setting)
		reading, end := make(chan struct{}), make(chan struct{})
		s := apptest.Start(t, vendors.Env(apptest.Quick, setting+"="+slowFirst(t, address, "ana-maria", reading, end))...)
		submitAt(s, t, "ana-maria", time.Hour, lead.Consent{Purpose: "news", Given: true, SiteWording: true})
		<-reading

		_, code := s.OperateAs(schema.RoleSales, `mutation { withdrawConsent(lead: "ana-maria", purpose: "news") { lead { state } } }`)
		close(end)
		if code != "" {
			t.Errorf("%s: withdrawing: %s", setting, code)
		}
		s.Restart()
		apptest.Eventually(t, "the CMS has the withdrawal", func() bool {
			return strings.Contains(string(vendors.CMS.Documents()["quoteSubmission.ana-maria"]), "withdrawnAt")
		})
		apptest.Eventually(t, "the CRM has the withdrawal", func() bool {
			return strings.Contains(fmt.Sprint(vendors.CRM.Contact("ana-maria@example.com")), "news: withdrawn")
		})
	}
}

// slowFirst forwards requests to a server and returns its own address. The first request
// that contains text closes reading and waits for end.
func slowFirst(t *testing.T, server, text string, reading, end chan struct{}) string {
	t.Helper()
	target, err := url.Parse(server)
	must(t, err)
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

// The consent to save progress can be withdrawn for a visitor who gave it while typing,
// with or without a lead, and again each time it is given.
func TestWithdrawalOfSavedProgress(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	withdraw := func(who, want string) {
		t.Helper()
		out, err := s.Command("leads", "withdraw", who, "--purpose", "save_progress")
		if got := strings.Join(strings.Fields(out), " "); err == nil && got != want || err != nil &&
			(want != "" || !strings.Contains(err.Error(), "was not given for the address")) {
			t.Errorf("%s: %v %s, want %q", who, err, got, want)
		}
	}

	submitAt(s, t, "has-lead", 48*time.Hour, lead.Consent{Purpose: lead.SaveProgress, Given: true})
	withdraw("has-lead@example.com", "leads 1 deletedLeads 0 sessions 0")
	for _, session := range []string{"has-lead", "stranger"} {
		s.TrackThrough("REST", object{
			"sessionId": session,
			"formData":  object{"email": session + "@example.com", "firstName": "Ana"},
			"consents":  []any{object{"purpose": "save_progress", "given": true, "text": "Keep it."}},
		})
		withdraw(session+"@example.com", "leads 0 deletedLeads 0 sessions 1")
		withdraw(session+"@example.com", "")
		stored, err := s.App.Data.Store.Session(t.Context(), session)
		if err != nil || stored.Hints != (lead.Hints{}) {
			t.Errorf("%s: %+v, %v", session, stored.Hints, err)
		}
	}

	entries, err := s.App.Data.Store.AuditEntries(t.Context(), store.AuditFilter{Limit: 100})
	if err != nil || len(entries) != 3 || entries[0].Detail != `{"purpose":"save_progress"}` {
		t.Errorf("%v: the audit has %+v", err, entries)
	}
}
