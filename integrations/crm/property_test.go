package crm_test

import (
	"maps"
	"testing"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/quote"
)

var submitted = time.Date(2026, 1, 31, 9, 30, 0, 500e6, time.UTC)

func lead(change func(*quote.Submission)) crm.Lead {
	s := &quote.Submission{
		ID:          "b-2",
		Contact:     quote.Contact{FirstName: "Ana", LastName: "Pop", Email: " Ana@Example.COM", Company: " "},
		Selections:  quote.Selections{ProjectType: "web-app", Features: []string{"login", "search"}},
		Estimate:    quote.Estimate{Min: 1e9, Max: 12.5, Currency: "EUR"},
		SubmittedAt: submitted,
	}
	if change != nil {
		change(s)
	}
	return crm.Lead{Submission: s, PDFURL: s.PDFPath()}
}

// complete is what a new contact gets from the unchanged lead.
func complete() map[string]string {
	return map[string]string{
		"email": "ana@example.com", "firstname": "Ana", "lastname": "Pop",
		"quote_project_type": "web-app", "quote_features": "login;search",
		"quote_min": "1000000000", "quote_max": "12.5", "quote_currency": "EUR",
		"quote_submission_id": "b-2", "quote_submitted_at": "2026-01-31T09:30:00.500Z",
		"quote_pdf_url": "/api/quote/pdf?id=b-2",
	}
}

func with(m map[string]string, pairs ...string) map[string]string {
	m = maps.Clone(m)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func TestChanges(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*quote.Submission)
		held   map[string]string
		want   map[string]string
	}{
		"a new contact gets all that is known": {held: nil, want: complete()},
		"a repetition changes nothing":         {held: complete(), want: map[string]string{}},
		"another notation is no change": {
			held: with(complete(), "quote_submitted_at", "1769851800500", "quote_min", "1000000000.0", "quote_max", "12.50"),
			want: map[string]string{},
		},
		"what the lead does not know stays": {
			held: with(complete(), "phone", "123", "company", "Acme", "quote_timeline", "soon"), want: map[string]string{},
		},
		"the primary address stays": {
			held: with(complete(), "email", "other@example.com"), want: map[string]string{},
		},
		"a newer submission replaces": {
			change: func(s *quote.Submission) {
				s.SubmittedAt = submitted.Add(time.Millisecond)
				s.Contact.LastName = "Popa"
			},
			held: complete(),
			want: map[string]string{"lastname": "Popa", "quote_submitted_at": "2026-01-31T09:30:00.501Z"},
		},
		"an older submission only fills gaps of the contact": {
			change: func(s *quote.Submission) {
				s.SubmittedAt = submitted.Add(-time.Hour)
				s.Contact.LastName, s.Contact.Phone = "Old", "0721"
				s.Selections.Timeline = "old"
			},
			held: complete(),
			want: map[string]string{"phone": "0721"},
		},
		"at the same instant the greater id wins": {
			change: func(s *quote.Submission) { s.ID = "a-1"; s.Estimate.Max = 1 }, held: complete(), want: map[string]string{},
		},
		"a foreign time gives way": {
			held: with(complete(), "quote_submitted_at", "yesterday"), want: map[string]string{"quote_submitted_at": "2026-01-31T09:30:00.500Z"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := crm.Changes(lead(tt.change), tt.held); !maps.Equal(got, tt.want) {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}
