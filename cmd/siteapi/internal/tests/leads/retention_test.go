package leads

import (
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream/faulttest"
)

// submitAt stores a lead that was submitted some time ago. The lead named "review" is in
// review.
func submitAt(s *apptest.Service, t *testing.T, id string, ago time.Duration, consents ...lead.Consent) {
	t.Helper()
	q := lead.Lead{
		ID:          id,
		SessionID:   "session-" + id,
		Contact:     lead.Contact{FirstName: "Ana", LastName: "Pop", Email: id + "@example.com"},
		Selections:  lead.Selections{ProjectType: "web-app", Features: []string{"blog"}},
		Estimate:    lead.Estimate{Min: 1, Max: 2, Currency: "EUR"},
		Locale:      "ro",
		SubmittedAt: time.Now().Add(-ago).UTC().Truncate(time.Millisecond),
		InReview:    id == "review",
		Consents:    consents,
	}

	if _, _, err := s.App.Data.Store.Submit(t.Context(),
		store.NewLead{Lead: q, ContentKey: id}); err != nil {
		t.Fatal(err)
	}
}

// has reports whether a lead is stored.
func has(s *apptest.Service, t *testing.T, id string) bool {
	t.Helper()
	_, err := s.App.Data.Store.Lead(t.Context(), id)
	return err == nil
}

// LEAD_RETENTION deletes a lead that is old and delivered, but none that is in review,
// under way or rejected by a target. By default leads are kept.
func TestRetention(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	s := apptest.Start(t, stubs.Env("TRACK_RETENTION=1d", apptest.Quick)...)

	submitAt(s, t, "old", 49*time.Hour)
	submitAt(s, t, "young", 47*time.Hour)
	submitAt(s, t, "review", 49*time.Hour)
	for _, v := range []lead.Visit{
		{SessionID: "old", At: time.Now().Add(-25 * time.Hour).UTC()},
		{SessionID: "young", At: time.Now().Add(-23 * time.Hour).UTC()},
	} {
		must(t, s.App.Data.Store.Track(t.Context(), v))
	}
	for _, id := range []string{"old", "young"} {
		apptest.Eventually(t, id+" arrives", func() bool { return ended(s, id) })
	}
	for id, state := range map[string]lead.DeliveryState{"rejected": lead.Failed, "stuck": lead.Retrying} {
		status := map[string]int{"rejected": 400, "stuck": 503}[id]
		stubs.Recover()
		stubs.CRM.Fail(faulttest.Respond(status).Times(-1))
		submitAt(s, t, id, 49*time.Hour)
		s.Reaches(id, "crm", state)
	}

	s.Restart()
	s.Logs(`"number":1,"message":"deleted old sessions"`)
	if _, err := s.App.Data.Store.Session(t.Context(), "young"); err != nil {
		t.Errorf("the young session: %v", err)
	}
	if !has(s, t, "old") {
		t.Error("a lead was deleted without LEAD_RETENTION")
	}

	s.Restart("LEAD_RETENTION=2d")
	apptest.Eventually(t, "the old lead is deleted", func() bool { return !has(s, t, "old") })
	for _, id := range []string{"young", "review", "rejected", "stuck"} {
		if !has(s, t, id) {
			t.Errorf("the lead %q was deleted too", id)
		}
	}
	if n := len(s.Deliveries("old")); n != 0 {
		t.Errorf("the deleted lead still has %d deliveries", n)
	}

	// Retention does not erase documents and contacts in the targets.
	if len(stubs.Documents("session-old")) != 1 || len(stubs.Contacts("old@example.com")) != 1 {
		t.Error("retention deleted the lead from the CMS or the CRM")
	}
}

// ended reports whether each delivery of a lead, including mails, was delivered or will
// not be sent.
func ended(s *apptest.Service, id string) bool {
	deliveries := s.Deliveries(id)
	for _, d := range deliveries {
		if d.State != lead.Delivered && d.State != lead.NotSent {
			return false
		}
	}
	return len(deliveries) > 0
}
