package storetest

import (
	"reflect"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// persons: the consents of an address that outlived their leads are found, and its sessions,
// without what another person typed in one of them.
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
	kept := []store.KeptConsent{{
		Consent: old.Lead.Consents[1],
		At:      old.Lead.SubmittedAt,
		Locale:  "ro",
	}}
	for email, want := range map[string]struct {
		consents []store.KeptConsent
		sessions []lead.Session
	}{
		"heRS@example.com":    {kept, []lead.Session{seenOnce(shared), seenOnce(typedThere)}},
		"theirs@example.com":  {},
		"unknown@example.com": {},
	} {
		consents, err := db.KeptConsents(t.Context(), email)
		if err != nil || len(consents)+len(want.consents) > 0 && !reflect.DeepEqual(consents, want.consents) {
			t.Errorf("consents of %s: %+v, %v, want %+v", email, consents, err, want.consents)
		}
		sessions, err := db.SessionsOf(t.Context(), email)
		if err != nil || !reflect.DeepEqual(sessions, want.sessions) {
			t.Errorf("sessions of %s: %+v, %v, want %+v", email, sessions, err, want.sessions)
		}
	}
}
