package crm_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/crm/crmtest"
	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
)

// TestEveryFieldHasAProperty fails if a field of a lead is not sent to the CRM, or if
// changes made by operators are.
func TestEveryFieldHasAProperty(t *testing.T) {
	t.Parallel()
	omitted := map[string]string{
		"sessionId": "meaningless outside this service",
		"locale":    "the PDF is in the visitor's language",

		"selections.quantities.count": "part of quote_quantities",
		"selections.quantities.unit":  "part of quote_quantities",

		"consents.given":       "part of quote_consents",
		"consents.text":        "in the CMS and the inbox, by purpose",
		"consents.siteWording": "part of quote_consents",
		"consents.withdrawnAt": "part of quote_consents",
	}
	for _, path := range leadtest.Fields() {
		_, known := omitted[path]
		if known == slices.ContainsFunc(crm.Properties(), func(p crm.Property) bool {
			return p.Field == path
		}) {
			t.Errorf("integrations/crm/property.go: Properties has no property for %s; "+
				"add it, or give the reason for its omission in this test", path)
		}
	}

	for _, p := range crm.Properties() {
		if p.Field != "" && !slices.Contains(leadtest.Fields(), p.Field) {
			t.Errorf("%s comes from the field %s, which leads do not have", p.Name, p.Field)
		}
		if got := crm.Changes(crm.Contact{Lead: leadtest.Filled(), PDFURL: "/", PageURL: "/", TimeZone: time.UTC}, nil); got[p.Name] == "" {
			t.Errorf("%s has no value for a complete lead", p.Name)
		}
	}

	sent := func(l *lead.Lead) map[string]string {
		return crm.Changes(crm.Contact{Lead: l, PDFURL: "/", PageURL: "/", TimeZone: time.UTC}, nil)
	}
	if !maps.Equal(sent(leadtest.Filled()), sent(leadtest.BeforeWork())) {
		t.Error("integrations/crm/property.go: Properties include operator changes")
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	complete := crm.Changes(crmtest.Contact(crmtest.Ana, nil), nil)
	if complete["quote_submitted_at"] != "2026-01-31T09:30:00.000Z" || complete["quote_max"] != "1000000000" {
		t.Errorf("a new contact gets %v", complete)
	}

	with := func(pairs ...string) map[string]string {
		m := maps.Clone(complete)
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}

	for name, tc := range map[string]struct {
		change        func(*lead.Lead)
		current, want map[string]string
	}{
		"a repetition changes nothing": {nil, complete, map[string]string{}},
		"another notation is no change": {
			nil,
			with("quote_submitted_at", "1769851800000", "quote_min", "12500.0",
				"quote_max", "1000000000.00"),
			map[string]string{},
		},
		"a newer lead replaces": {
			func(s *lead.Lead) {
				s.SubmittedAt, s.Contact.LastName = s.SubmittedAt.Add(time.Millisecond), "Popa"
			},
			complete,
			map[string]string{"quote_contact_lastname": "Popa", "quote_submitted_at": "2026-01-31T09:30:00.001Z"},
		},
		"no properties of a contact maintained by people": {
			nil,
			with("phone", "", "lastname", "Popa", "quote_contact_created", ""),
			map[string]string{},
		},
		"an older lead fills empty properties of the person": {
			func(s *lead.Lead) {
				s.SubmittedAt, s.Contact.LastName, s.Estimate.Min = s.SubmittedAt.Add(-time.Hour), "Old", 1
			},
			with("phone", "", "quote_timeline", ""),
			map[string]string{"phone": "+40 721 000 111"},
		},
		"at the same time the greater id wins": {
			func(s *lead.Lead) { s.ID, s.Estimate.Min = "ffffffff", 1 },
			complete,
			map[string]string{
				"quote_submission_id": "ffffffff", "quote_min": "1",
				"quote_pdf_url":  "https://site.example/api/quote/pdf?id=ffffffff",
				"quote_page_url": "https://site.example/api/quote/page?id=ffffffff",
			},
		},
		"at the same time the smaller id changes nothing": {
			func(s *lead.Lead) { s.ID, s.Estimate.Min = "00000000", 1 },
			complete,
			map[string]string{},
		},
		"a newer lead clears missing values": {
			func(s *lead.Lead) { s.SubmittedAt = s.SubmittedAt.Add(time.Millisecond) },
			with("quote_message", "Hello", "quote_source", "ads", "quote_consents", "news: given"),
			map[string]string{
				"quote_message": "", "quote_source": "", "quote_consents": "",
				"quote_submitted_at": "2026-01-31T09:30:00.001Z",
			},
		},
		"a consent is withdrawn on a day of the site's zone": {
			func(s *lead.Lead) {
				s.Consents = []lead.Consent{{Purpose: "news", Given: true, WithdrawnAt: new(s.SubmittedAt.Add(13 * time.Hour))}}
			},
			complete,
			map[string]string{"quote_consents": "news: withdrawn 2026-02-01"},
		},
		"a price to be agreed clears the numbers": {
			func(s *lead.Lead) { s.SubmittedAt, s.Estimate.Max = s.SubmittedAt.Add(time.Millisecond), 0 },
			complete,
			map[string]string{"quote_min": "", "quote_max": "", "quote_submitted_at": "2026-01-31T09:30:00.001Z"},
		},
		"a malformed time is replaced": {
			nil,
			with("quote_submitted_at", "yesterday"),
			map[string]string{"quote_submitted_at": "2026-01-31T09:30:00.000Z"},
		},
	} {
		if got := crm.Changes(crmtest.Contact(crmtest.Ana, tc.change), tc.current); !maps.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
