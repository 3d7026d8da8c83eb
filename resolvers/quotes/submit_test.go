package quotes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
	"siteapi/integrations/ratelimit/memory"
	"siteapi/schema"
	"siteapi/schema/request"
)

func ptr[T any](v T) *T { return &v }

func input() schema.SubmitQuoteInput {
	return schema.SubmitQuoteInput{
		SessionID: "s-1",
		Contact: &schema.QuoteContactInput{
			FirstName: " Ana ",
			LastName:  "Pop",
			Email:     " ana@example.com",
			Phone:     ptr("  "),
		},
		Selections: &schema.QuoteSelectionsInput{
			ProjectType: "web-app",
			Features:    []string{"blog", "shop", "blog", " shop "},
			Timeline:    ptr("3-months"),
		},
		Estimate: &schema.QuoteEstimateInput{Min: 1000, Max: 2000.5, Currency: "EUR"},
		Locale:   ptr(schema.LocaleRo),
	}
}

func TestNewLeadTrims(t *testing.T) {
	t.Parallel()
	s := newLead(input())
	if s.Contact.FirstName != "Ana" || s.Contact.Email != "ana@example.com" || s.Contact.Phone != "" ||
		s.Locale != "ro" {
		t.Errorf("got %+v", s)
	}

	if len(s.Selections.Features) != 2 || s.Selections.Features[0] != "blog" ||
		s.Selections.Features[1] != "shop" {
		t.Errorf("features are %q, want each once in the order they were ticked", s.Selections.Features)
	}
}

// Different content is a different lead; the order of features and white space do not
// matter.
func TestContentDigest(t *testing.T) {
	t.Parallel()
	digestOf := func(change func(*schema.SubmitQuoteInput)) string {
		in := input()
		change(&in)
		s := newLead(in)
		d, err := contentDigest(&s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}

	same := digestOf(func(*schema.SubmitQuoteInput) {})
	for name, change := range map[string]func(*schema.SubmitQuoteInput){
		"":         func(in *schema.SubmitQuoteInput) { in.Selections.Features = []string{"shop", " blog"} },
		"session":  func(in *schema.SubmitQuoteInput) { in.SessionID = "s-2" },
		"name":     func(in *schema.SubmitQuoteInput) { in.Contact.LastName = "Popa" },
		"features": func(in *schema.SubmitQuoteInput) { in.Selections.Features = []string{"blog"} },
		"amount":   func(in *schema.SubmitQuoteInput) { in.Estimate.Max = 2001 },
		"locale":   func(in *schema.SubmitQuoteInput) { in.Locale = nil },
	} {
		if (digestOf(change) == same) != (name == "") {
			t.Errorf("unexpected digest after changing %q", name)
		}
	}
}

// TestNewLeadCopiesEveryField checks that each field of the schema's input is a field of
// the lead, and that newLead copies it.
func TestNewLeadCopiesEveryField(t *testing.T) {
	t.Parallel()

	var in schema.SubmitQuoteInput
	leadtest.Fill(&in, func(path string) {
		if !slices.Contains(leadtest.Fields(), path) && path != "website" && path != "challengeToken" &&
			path != "estimate.revision" {
			t.Errorf("integrations/lead/lead.go: Lead has no field for %s of SubmitQuoteInput", path)
		}
	})

	for _, path := range leadtest.Missing(newLead(in)) {
		if _, part, _ := strings.Cut(path, "ttribution."); part != "" {
			continue // merged with the session's attribution
		}
		if path == "consents.siteWording" || path == "consents.withdrawnAt" {
			continue // set by the service later
		}
		if path != "id" && path != "submittedAt" && path != "priceStatus" { // set by the service
			t.Errorf("resolvers/quotes/submit.go: newLead leaves out %s", path)
		}
	}
}

// A client submits at most 300 leads an hour. A lead of 15,000 bytes counts as two.
func TestLeadsOfAnHour(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	r := New(Deps{Limiter: memory.New(), Now: func() time.Time { return now }})
	from := func(address string, size int) bool {
		ctx := request.WithCaller(t.Context(), request.Caller{Address: address})
		return r.withinHourlyLeads(ctx, &lead.Lead{Message: strings.Repeat("a", size), SubmittedAt: now}) == nil
	}

	for i := range 301 {
		if ok := from("198.51.100.1", 2000); ok != (i < 300) {
			t.Fatalf("the lead %d of an address: %v", i+1, ok)
		}
	}
	for i := range 151 {
		if ok := from("198.51.100.2", 15_000); ok != (i < 150) {
			t.Fatalf("the large lead %d of an address: %v", i+1, ok)
		}
	}
	if !from("2001:db8::1", 2000) {
		t.Error("other clients are limited, too")
	}
	if now = now.Add(time.Hour); !from("198.51.100.1", 2000) {
		t.Error("the next hour is limited, too")
	}
}
