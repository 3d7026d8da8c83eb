package app

import (
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream/faulttest"
)

// submitAt stores a lead that was submitted some time ago. The lead "review" is in review.
func (s *service) submitAt(t *testing.T, id string, ago time.Duration, consents ...lead.Consent) {
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

	if _, _, err := s.app.data.Quotes.Submit(t.Context(),
		store.NewLead{Lead: q, ContentKey: id}); err != nil {
		t.Fatal(err)
	}
}

// has reports whether a lead is stored.
func (s *service) has(t *testing.T, id string) bool {
	t.Helper()
	_, err := s.app.data.Quotes.Lead(t.Context(), id)
	return err == nil
}

// A lead is erased when it is old and delivered, not while it is in review, under way or
// refused by a target.
func TestRetention(t *testing.T) {
	t.Parallel()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, stubs.env(map[string]string{
		"SUBMISSION_RETENTION": "2d",
		"TRACK_RETENTION":      "1d",
	}), quick)

	s.submitAt(t, "old", 49*time.Hour)
	s.submitAt(t, "young", 47*time.Hour)
	s.submitAt(t, "review", 49*time.Hour)
	for _, v := range []lead.Visit{
		{SessionID: "old", At: time.Now().Add(-25 * time.Hour).UTC()},
		{SessionID: "young", At: time.Now().Add(-23 * time.Hour).UTC()},
	} {
		if err := s.app.data.Quotes.Track(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}

	for _, id := range []string{"old", "young"} {
		eventually(t, id+" arrives", func() bool {
			d := s.deliveries(id)
			return d["cms"].State == "delivered" && d["crm"].State == "delivered" &&
				d["sales_mail"].State == "delivered"
		})
	}

	stubs.crm.Fail(faulttest.Answer(400).Times(-1))
	s.submitAt(t, "rejected", 49*time.Hour)
	eventually(t, "the CRM rejects one", func() bool {
		d := s.deliveries("rejected")
		return d["cms"].State == "delivered" && d["crm"].State == "failed"
	})

	stubs.recover()
	stubs.crm.Fail(faulttest.Answer(503).Times(-1))
	s.submitAt(t, "stuck", 49*time.Hour)
	eventually(t, "the stuck one is tried", func() bool {
		return s.deliveries("stuck")["crm"].State == "retrying"
	})

	s.stop()
	s.start()
	eventually(t, "the old one is forgotten", func() bool { return !s.has(t, "old") })
	eventually(t, "it is logged", func() bool {
		return strings.Contains(s.log.String(), `"submissions":1,"message":"deleted old submissions"`) &&
			strings.Contains(s.log.String(), `"sessions":1,"message":"deleted old sessions"`)
	})

	for _, id := range []string{"young", "review", "rejected", "stuck"} {
		if !s.has(t, id) {
			t.Errorf("the one that is %s was forgotten too", id)
		}
	}

	if _, err := s.app.data.Quotes.Session(t.Context(), "young"); err != nil {
		t.Errorf("the young session: %v", err)
	}
	if n := len(s.deliveries("old")); n != 0 {
		t.Errorf("%d deliveries of the forgotten one are left", n)
	}

	// Retention does not erase what was delivered to the targets.
	if len(stubs.documents("session-old")) != 1 || len(stubs.contacts("old@example.com")) != 1 {
		t.Error("the CMS or the CRM lost what the database forgot")
	}

	stubs.recover()
	if _, err := s.app.data.Archive.Release(t.Context(), "review", false); err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{"stuck", "review"} {
		eventually(t, id+" arrives", func() bool {
			d := s.deliveries(id)
			return d["cms"].State == "delivered" && d["crm"].State == "delivered"
		})
	}

	s.stop()
	s.start()
	eventually(t, "they are forgotten then", func() bool { return !s.has(t, "stuck") && !s.has(t, "review") })
}

// Consents that were given outlive their leads, without the address in the open, until they
// are withdrawn or erased.
func TestRetentionKeepsConsents(t *testing.T) {
	t.Parallel()
	s := startService(t, map[string]string{"SUBMISSION_RETENTION": "2d"}, quick)

	people := []string{"withdraws", "erased"}
	for _, name := range people {
		s.submitAt(t, name, 49*time.Hour,
			lead.Consent{Purpose: "news", Given: true, Text: "Send me news"},
			lead.Consent{Purpose: "calls", Text: "Call me"})
		eventually(t, name+" arrives", func() bool {
			for _, d := range s.deliveries(name) {
				if !d.State.Ended() {
					return false
				}
			}
			return true
		})
	}

	s.stop()
	s.start()
	for _, name := range people {
		eventually(t, name+" is forgotten", func() bool { return !s.has(t, name) })
		if n, err := s.app.data.Archive.CountConsents(t.Context(), name+"@example.com"); err != nil || n != 1 {
			t.Errorf("%s has %d consents, %v, want the one that was given", name, n, err)
		}
	}

	withdraw := []string{"leads", "withdraw", "Withdraws@example.com", "--purpose", "news"}
	if out, err := s.siteapi(withdraw...); err != nil ||
		!strings.Contains(out, "withdrawn for 1 leads that retention had deleted") || strings.Contains(out, "service tells") {
		t.Errorf("withdrawing: %v %s", err, out)
	}
	if out, err := s.siteapi(withdraw...); err == nil {
		t.Errorf("a consent was withdrawn twice: %s", out)
	}

	out, err := s.siteapi("leads", "erase", "--json", "--yes", "--email", "erased@example.com", "--server", s.base)
	var receipt erased
	readJSON(t, out, &receipt)
	receipt.says(t, "consents", 1, 1, "erased")
	if err != nil {
		t.Error(err)
	}

	for _, name := range people {
		if n, err := s.app.data.Archive.CountConsents(t.Context(), name+"@example.com"); err != nil || n != 0 {
			t.Errorf("%s has %d consents still, %v", name, n, err)
		}
	}
}

// By default leads stay.
func TestRetentionIsOffByDefault(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	s.submitAt(t, "old", 20*365*24*time.Hour)
	s.stop()
	s.start()
	time.Sleep(100 * time.Millisecond)
	if !s.has(t, "old") {
		t.Error("a submission was forgotten without SUBMISSION_RETENTION")
	}
}
