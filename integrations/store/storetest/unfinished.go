package storetest

import (
	"slices"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Sessions with the consent and an address, but without a lead of the session or, since it
// began, of the address, are listed newest first, in pages. Nothing that a visitor types
// counts as the consent.
func unfinished(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	agreed := func(email string) lead.Hints {
		return lead.Hints{Email: email, FirstName: "Ana", Agreed: true, Consent: "Keep it"}
	}
	for i, v := range []struct {
		id    string
		hints lead.Hints
	}{
		{"left", agreed("left@example.com")},
		{"later", agreed("later@example.com")},
		{"refused", lead.Hints{Email: "refused@example.com"}},
		{"typed", lead.Hints{Email: "typed@example.com", FirstName: `"agreed":true`, Consent: `{"agreed":true}`}},
		{"nameless", lead.Hints{FirstName: "Ana", Agreed: true}},
		{"submitted", agreed("submitted@example.com")},
		{"elsewhere", agreed("ELSEWHERE@example.com")},
		{"customer", agreed("customer@example.com")},
		{"withdrawn", agreed("withdrawn@example.com")},
		{"erased", agreed("erased@example.com")},
	} {
		ok(t, db.Track(t.Context(), lead.Visit{SessionID: v.id, Hints: v.hints, At: When().Add(time.Duration(i) * time.Minute)}))
	}
	ok(t, db.Track(t.Context(), lead.Visit{SessionID: "left", Hints: agreed("left@example.com"), At: When().Add(time.Hour)}))

	for i, of := range []struct {
		session, email string
		at             time.Duration
	}{
		{"submitted", "other@example.com", time.Hour},
		{"another", "elsewhere@example.com", time.Hour},
		{"earlier", "customer@example.com", -time.Hour}, // before the session began
	} {
		n := Lead(i)
		n.Lead.SessionID, n.Lead.Contact.Email, n.Lead.SubmittedAt = of.session, of.email, When().Add(of.at)
		submit(t, db, n)
	}
	_, err := db.WithdrawConsent(t.Context(), "withdrawn@example.com", lead.SaveProgress, When(), entry(0, ""))
	ok(t, err)
	_, _, err = db.EraseAddress(t.Context(), "erased@example.com")
	ok(t, err)

	var got []string
	for after := (store.SessionPosition{}); ; {
		page, err := db.Unfinished(t.Context(), after, 2)
		ok(t, err)
		if len(page) == 0 {
			break
		}
		for _, session := range page {
			got = append(got, session.ID)
			after = store.SessionPosition{LastSeen: session.LastSeen, ID: session.ID}
		}
	}
	if want := []string{"left", "customer", "later"}; !slices.Equal(got, want) {
		t.Errorf("unfinished are %q, want %q", got, want)
	}
}
