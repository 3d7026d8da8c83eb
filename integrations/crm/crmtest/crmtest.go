// Package crmtest is the conformance suite of the CRM contract. Every driver of
// [crm.Contacts] runs it, against a real far end or a faithful stand-in.
package crmtest

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/quote"
)

// Subject is a driver with an empty CRM behind it and a way to look at that CRM
// without the driver.
type Subject struct {
	Contacts crm.Contacts
	// Contact returns the properties of the contact with this address, false where
	// there is none. Values come in the notation the CRM keeps them in.
	Contact func(email string) (map[string]string, bool)
	// Count returns the number of contacts.
	Count func() int
}

// Run runs the suite. Open returns a fresh subject for each case and cleans up after
// itself through t.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	cases := []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"CreatesAContact", createsAContact},
		{"LeavesOutWhatIsUnknown", leavesOutWhatIsUnknown},
		{"UpdatesWithoutClearing", updatesWithoutClearing},
		{"RepeatChangesNothing", repeatChangesNothing},
		{"OlderAfterNewer", olderAfterNewer},
		{"SameInstant", sameInstant},
		{"LetterCaseOfAddresses", letterCaseOfAddresses},
		{"OddAddresses", oddAddresses},
		{"NoAddress", noAddress},
		{"ConcurrentUpserts", concurrentUpserts},
		{"ConcurrentContacts", concurrentContacts},
		{"Missing", missing},
		{"MissingMany", missingMany},
		{"Erase", erase},
		{"EraseThenUpsert", eraseThenUpsert},
		{"CancelledContext", cancelledContext},
		{"Ping", ping},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

// Lead returns a lead with everything known, changed as a case needs it. Its id and
// time of submission are fixed.
func Lead(email string, change func(*quote.Submission)) crm.Lead {
	s := &quote.Submission{
		ID:        "5f0c2d34-6c1b-4a27-9d10-0c9a3f6c2b01",
		SessionID: "session-1",
		Contact: quote.Contact{
			FirstName: "Ștefania", LastName: "Núñez", Email: email, Phone: "+40 721 000 111", Company: "Brânză & Co",
		},
		Selections: quote.Selections{
			ProjectType: "web-app", Features: []string{"login", "search"}, Complexity: "medium", Timeline: "3-months",
		},
		Estimate:    quote.Estimate{Min: 12500, Max: 1e9, Currency: "EUR"},
		Locale:      "ro",
		SubmittedAt: time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC),
	}
	if change != nil {
		change(s)
	}
	return crm.Lead{Submission: s, PDFURL: "https://site.example" + s.PDFPath()}
}

// Visitor returns the address of one of many visitors.
func Visitor(i int) string { return fmt.Sprintf("visitor-%d@example.com", i) }

// Want returns the properties a new contact has after the unchanged lead, except
// quote_submitted_at, whose notation is the CRM's own.
func Want(email string) map[string]string {
	return map[string]string{
		"email": crm.Address(email), "firstname": "Ștefania", "lastname": "Núñez",
		"phone": "+40 721 000 111", "company": "Brânză & Co",
		"quote_project_type": "web-app", "quote_features": "login;search",
		"quote_complexity": "medium", "quote_timeline": "3-months",
		"quote_min": "12500", "quote_max": "1000000000", "quote_currency": "EUR",
		"quote_submission_id": "5f0c2d34-6c1b-4a27-9d10-0c9a3f6c2b01",
		"quote_pdf_url":       "https://site.example/api/quote/pdf?id=5f0c2d34-6c1b-4a27-9d10-0c9a3f6c2b01",
	}
}

func upsert(t *testing.T, s Subject, l crm.Lead) {
	t.Helper()
	if err := s.Contacts.Upsert(context.Background(), l); err != nil {
		t.Fatalf("upserting: %v", err)
	}
}

// expect compares the contact, apart from the time of submission, with want.
func expect(t *testing.T, s Subject, email string, want map[string]string) {
	t.Helper()
	got, ok := s.Contact(email)
	if !ok {
		t.Fatalf("there is no contact %q", email)
	}
	got = maps.Clone(got)
	if got[crm.PropSubmittedAt] == "" {
		t.Errorf("%s is empty", crm.PropSubmittedAt)
	}
	delete(got, crm.PropSubmittedAt)
	if !maps.Equal(got, want) {
		t.Errorf("contact %q\ngot  %v\nwant %v", email, got, want)
	}
}

func expectCount(t *testing.T, s Subject, want int) {
	t.Helper()
	if got := s.Count(); got != want {
		t.Errorf("there are %d contacts, want %d", got, want)
	}
}
