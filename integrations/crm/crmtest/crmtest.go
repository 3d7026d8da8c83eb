// Package crmtest is the conformance suite of the CRM contract. Every driver runs it.
package crmtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream"
)

// Driver combines the interfaces that every driver implements.
type Driver interface {
	crm.Contacts
	crm.Lookup
	crm.Eraser
}

// Subject is a driver for an empty CRM, with direct access to that CRM.
type Subject struct {
	Driver

	// Contact returns the properties of the contact with this address, and reports
	// whether it exists.
	Contact func(email string) (map[string]string, bool)

	// Deal returns the properties of the deal of this lead, or of the record with this id,
	// and reports whether it exists.
	Deal func(leadID string) (map[string]string, bool)

	// Add creates a contact, as people do in the CRM. Edit changes properties of the contact
	// with an address or of the deal of a lead. Clone copies the deal of a lead and returns
	// the id of the new record.
	Add   func(properties map[string]string)
	Edit  func(key string, properties map[string]string)
	Clone func(leadID string) (recordID string)

	// MovedOn is a stage other than the first.
	MovedOn string
}

// Run runs the suite. Open returns a new subject for each case.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	cases := map[string]func(*testing.T, Subject){
		"Upsert":            upsertCreatesAndUpdates,
		"Unusual addresses": unusualAddresses,
		"Concurrent":        concurrent,
		"Lookup":            lookup,
		"Deals":             dealPerLead,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
	erasures(t, open)
}

// Ana is the address of most leads in the suite.
const Ana = "ana.pop@example.com"

// Contact returns a lead with contact data, selections and an estimate, but without
// message, attribution and consents. If change is not nil, it is applied to the lead.
func Contact(email string, change func(*lead.Lead)) crm.Contact {
	s := &lead.Lead{
		ID:        "5f0c2d34-6c1b-4a27-9d10-0c9a3f6c2b01",
		SessionID: "session-1",
		Locale:    "ro",
		Contact: lead.Contact{
			FirstName: "Ștefania",
			LastName:  "Núñez",
			Email:     email,
			Phone:     "+40 721 000 111",
			Company:   "Brânză & Co",
		},
		Selections: lead.Selections{
			ProjectType: "web-app",
			Features:    []string{"login", "search"},
			Complexity:  "medium",
			Timeline:    "3-months",
		},
		Estimate:    lead.Estimate{Min: 12500, Max: 1e9, Currency: "EUR"},
		SubmittedAt: time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC),
	}

	if change != nil {
		change(s)
	}
	return crm.Contact{
		Lead: s, PDFURL: "https://site.example" + s.PDFPath(), PageURL: "https://site.example" + s.PagePath(),
		ProjectType: "Web application", TimeZone: time.FixedZone("", 2*60*60),
	}
}

// Want returns the properties of a new contact after the unchanged lead, except
// quote_submitted_at, whose notation depends on the CRM.
func Want(email string) map[string]string {
	return map[string]string{
		"email":                   crm.Address(email),
		"firstname":               "Ștefania",
		"lastname":                "Núñez",
		"phone":                   "+40 721 000 111",
		"quote_contact_created":   "true",
		"quote_contact_firstname": "Ștefania",
		"quote_contact_lastname":  "Núñez",
		"quote_contact_phone":     "+40 721 000 111",
		"quote_contact_company":   "Brânză & Co",
		"quote_project_type":      "web-app",
		"quote_features":          "login;search",
		"quote_complexity":        "medium",
		"quote_timeline":          "3-months",
		"quote_min":               "12500",
		"quote_max":               "1000000000",
		"quote_currency":          "EUR",
		"company":                 "Brânză & Co",
		"quote_submission_id":     "5f0c2d34-6c1b-4a27-9d10-0c9a3f6c2b01",
		"quote_pdf_url":           "https://site.example/api/quote/pdf?id=5f0c2d34-6c1b-4a27-9d10-0c9a3f6c2b01",
		"quote_page_url":          "https://site.example/api/quote/page?id=5f0c2d34-6c1b-4a27-9d10-0c9a3f6c2b01",
	}
}

// Expect compares the properties of the contact with this address, except the time of the
// lead, with want.
func (s Subject) Expect(t *testing.T, email string, want map[string]string) {
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

func (s Subject) upsert(t *testing.T, email string, change func(*lead.Lead)) lead.Records {
	t.Helper()
	made, err := s.Upsert(context.WithoutCancel(t.Context()), Contact(email, change))
	if err != nil || made.Contact.ID == "" || made.Deal.ID == "" {
		t.Errorf("upserting: %+v, %v", made, err)
	}
	return made
}

func upsertCreatesAndUpdates(t *testing.T, s Subject) {
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("pinging: %v", err)
	}
	for range 2 { // the second call changes nothing
		s.upsert(t, Ana, nil)
		s.Expect(t, Ana, Want(Ana))
	}

	// The quote shows the newer lead and clears missing values. The person is unchanged.
	s.upsert(t, Ana, func(q *lead.Lead) {
		q.SubmittedAt = q.SubmittedAt.Add(time.Hour)
		q.Contact.LastName, q.Contact.Company, q.Selections.Features = "Pop-Núñez", "  ", nil
		q.Estimate = lead.Estimate{Min: 0, Max: 0.5, Currency: "RON"}
	})
	want := Want(Ana)
	maps.Copy(want, map[string]string{
		"quote_contact_lastname": "Pop-Núñez",
		"quote_min":              "0",
		"quote_max":              "0.5",
		"quote_currency":         "RON",
	})
	delete(want, "quote_contact_company")
	delete(want, "quote_features")
	s.Expect(t, Ana, want)
	s.upsert(t, Ana, nil) // an older lead
	s.Expect(t, Ana, want)
}

func unusualAddresses(t *testing.T, s Subject) {
	for _, email := range []string{
		"ana+quote@example.com", "o'neill@example.com", "a/b@example.com",
		"%2e%2e@example.com", "a?b=c&d#e@example.com", "josé@exámple.com", " Ana.POP@Example.COM ",
	} {
		for hours := range 2 { // the contact exists in the second round
			s.upsert(t, email, func(q *lead.Lead) {
				q.SubmittedAt = q.SubmittedAt.Add(time.Duration(hours) * time.Hour)
			})
		}
		s.Expect(t, crm.Address(email), Want(email))
	}

	for _, email := range []string{"", " ", "ana", "@example.com", "ana@"} {
		if _, err := s.Upsert(t.Context(), Contact(email, nil)); err == nil ||
			upstream.KindOf(err) != upstream.Rejected {
			t.Errorf("upserting %q: %v, want rejected", email, err)
		}
	}
	nameless := Contact(Ana, func(l *lead.Lead) { l.ID = "" })
	if _, err := s.Upsert(t.Context(), nameless); upstream.KindOf(err) != upstream.Rejected {
		t.Errorf("upserting a lead without an id: %v, want rejected", err)
	}
}

// concurrent stores each of 20 leads of one address twice. One delivery of a lead creates
// its deal, and the contact shows the newest lead.
func concurrent(t *testing.T, s Subject) {
	var all sync.WaitGroup
	var ids []string
	for i := range 40 {
		ids = append(ids, fmt.Sprintf("id-%02d", i/2), "", "unknown")
		all.Go(func() {
			s.upsert(t, Ana, func(q *lead.Lead) {
				q.ID, q.SubmittedAt = fmt.Sprintf("id-%02d", i/2), q.SubmittedAt.Add(time.Duration(i/2)*time.Minute)
			})
		})
	}

	all.Wait()
	if got, _ := s.Contact(Ana); got["quote_submission_id"] != "id-19" {
		t.Errorf("the newest lead did not win: %v", got)
	}
	found, err := s.FindDeals(t.Context(), ids)
	slices.Sort(found)
	if err != nil || len(slices.Compact(found)) != 20 {
		t.Errorf("the deals are %q, %v", found, err)
	}
}

func lookup(t *testing.T, s Subject) {
	emails, want := []string{"", "ana"}, []string{"", "ana"}
	for i := range 230 { // more than a CRM accepts in one request
		email := fmt.Sprintf("Visitor-%d@example.com", i)
		emails = append(emails, email)
		if i%100 == 29 {
			s.upsert(t, email, nil)
		} else {
			want = append(want, email)
		}
	}

	missing, err := s.Missing(t.Context(), emails)
	if err != nil || !slices.Equal(missing, want) {
		t.Errorf("%d of %d are missing, want %d; %v", len(missing), len(emails), len(want), err)
	}

	for _, leads := range [][]string{nil, {""}, {"unknown"}} {
		if found, err := s.FindDeals(t.Context(), leads); err != nil || len(found) != 0 {
			t.Errorf("deals of %q: %q, %v", leads, found, err)
		}
	}
}

// FirstID is the id of the unchanged lead.
const FirstID = "5f0c2d34-6c1b-4a27-9d10-0c9a3f6c2b01"

// again is a second lead of the person, without a price.
func again(l *lead.Lead) {
	l.ID, l.SubmittedAt = "aaaa1111-second", l.SubmittedAt.Add(time.Hour)
	l.Estimate, l.Message = lead.Estimate{Currency: "EUR"}, "Call me, Ana"
}

// has checks properties of a deal; an empty value means that there is none.
func (s Subject) has(t *testing.T, leadID string, want map[string]string) {
	t.Helper()
	deal, ok := s.Deal(leadID)
	if !ok {
		t.Fatalf("there is no deal of %s", leadID)
	}
	for name, value := range want {
		if deal[name] != value {
			t.Errorf("%s of the deal of %s is %q, want %q", name, leadID, deal[name], value)
		}
	}
}

// dealPerLead checks that each lead has one deal, and that what people change in it stays.
func dealPerLead(t *testing.T, s Subject) {
	s.upsert(t, Ana, nil)
	want := crm.NewDeal(Contact(Ana, nil))
	delete(want, crm.PropSubmittedAt) // Its notation depends on the CRM.
	s.has(t, FirstID, want)

	s.upsert(t, Ana, again)
	s.has(t, "aaaa1111-second", map[string]string{"amount": "", "quote_message": "Call me, Ana"})

	// People work on the first deal. A repetition changes only what is the quote's.
	edited := map[string]string{
		"dealname":      "Ana's shop",
		"amount":        "9000.5",
		"dealstage":     s.MovedOn,
		"quote_message": "",
	}
	s.Edit(FirstID, edited)
	for range 2 {
		s.upsert(t, Ana, func(l *lead.Lead) {
			l.Consents = []lead.Consent{{Purpose: "news", Given: true, SiteWording: true}}
		})
	}
	edited["quote_consents"] = "news: given"
	s.has(t, FirstID, edited)
}
