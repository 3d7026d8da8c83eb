package main

import (
	"testing"
	"time"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// TestRetentionKeepsWhatWasNeverDelivered has one old lead that arrived, one in review and
// one that a target rejected. Only the first is forgotten; the second is, once it arrived.
func TestRetentionKeepsWhatWasNeverDelivered(t *testing.T) {
	t.Parallel()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, stubs.env(map[string]string{"SUBMISSION_RETENTION": "2d"}))
	s.submitAt(t, "arrived", 49*time.Hour)
	review := quote.Submission{
		ID: "review", SessionID: "review", Contact: quote.Contact{FirstName: "Ana", LastName: "Pop", Email: "review@example.com"},
		Selections: quote.Selections{ProjectType: "web-app"}, Estimate: quote.Estimate{Min: 1, Max: 2, Currency: "EUR"},
		SubmittedAt: time.Now().Add(-49 * time.Hour).UTC().Truncate(time.Millisecond), InReview: true,
	}
	if _, _, err := s.app.data.quotes.Submit(t.Context(), store.NewSubmission{Submission: review, ContentKey: "review"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first arrives", func() bool {
		d := s.deliveries("arrived")
		return d["cms"].State == "delivered" && d["crm"].State == "delivered"
	})
	stubs.crm.Fail(hubspottest.Answer(400, nil).Times(-1))
	s.submitAt(t, "rejected", 49*time.Hour)
	eventually(t, "the CRM rejects one", func() bool {
		d := s.deliveries("rejected")
		return d["cms"].State == "delivered" && d["crm"].State == "failed"
	})
	stubs.recover()

	s.stop()
	s.start()
	eventually(t, "the first is forgotten", func() bool { return !s.has(t, "arrived") })
	if !s.has(t, "review") || !s.has(t, "rejected") {
		t.Fatalf("retention erased a lead that nobody got: in review %v, rejected %v", s.has(t, "review"), s.has(t, "rejected"))
	}
	if _, err := s.app.data.archive.Release(t.Context(), "review"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the released one arrives", func() bool {
		d := s.deliveries("review")
		return d["cms"].State == "delivered" && d["crm"].State == "delivered"
	})
	s.stop()
	s.start()
	eventually(t, "it is forgotten", func() bool { return !s.has(t, "review") })
}
