package storetest

import (
	"reflect"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// The sessions of an address and the consents that outlived its leads are found. The form
// entries of another person in one of the sessions are left out.
func persons(t *testing.T, s Subject) {
	db := s.MustOpen(t, nil)
	asked := func(n int, email string) store.NewLead {
		l := Lead(n)
		l.Lead.Contact.Email = email
		l.Lead.Consents = []lead.Consent{
			{Purpose: "calls", Text: "Call me"},
			{Purpose: "news", Given: true, Text: "Send me news", SiteWording: true},
		}
		submit(t, db, l)
		return l
	}
	old := asked(0, "Hers@Example.com")
	recent := asked(1, "hers@example.com")
	asked(2, "theirs@example.com")

	typedThere := Visit("typed", When().Add(time.Minute))
	typedThere.Hints.Email = "HERS@example.com"
	shared := Visit(recent.Lead.SessionID, When())
	mustTrack(t, db, typedThere, shared, Visit("other", When()), Visit(old.Lead.SessionID, When()))
	if n, err := db.PruneLeads(t.Context(), recent.Lead.SubmittedAt); err != nil || n != 1 {
		t.Fatal(n, err)
	}

	shared.Hints = lead.Hints{}
	consents, err := db.KeptConsents(t.Context(), "heRS@example.com")
	want := []store.KeptConsent{{Consent: old.Lead.Consents[1], At: old.Lead.SubmittedAt, Locale: "ro"}}
	if err != nil || !reflect.DeepEqual(consents, want) {
		t.Errorf("the consents are %+v, %v, want %+v", consents, err, want)
	}
	sessions, err := db.SessionsOf(t.Context(), "heRS@example.com")
	if err != nil || !reflect.DeepEqual(sessions, []lead.Session{seenOnce(shared), seenOnce(typedThere)}) {
		t.Errorf("the sessions are %+v, %v", sessions, err)
	}
}
