package pdf_test

import (
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/pdf"
)

// TestPlaceholders fills in placeholders of which some have no value.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ named, unnamed string }{
		"Hello {firstName},":                {"Hello Ana,", "Hello,"},
		"Hola, {firstName}. Gracias":        {"Hola, Ana. Gracias", "Hola. Gracias"},
		"{firstName}, thank you":            {"Ana, thank you", "thank you"},
		"Mulțumim, {firstName}, din suflet": {"Mulțumim, Ana, din suflet", "Mulțumim din suflet"},
		"Thanks\u00a0{firstName}!":          {"Thanks\u00a0Ana!", "Thanks!"},
		"a\n{firstName}: b":                 {"a\nAna: b", "a\nb"},
		"{firstName}{firstName}":            {"AnaAna", ""},
		"{reference} {reference}":           {"F81D4FAE F81D4FAE", "F81D4FAE F81D4FAE"},
		"Until {validUntil}.":               {"Until 11 March 2026.", "Until 11 March 2026."},
		"{company}":                         {"{firstName} & Sons", "{firstName} & Sons"}, // a value is no template
		"No placeholder":                    {"No placeholder", "No placeholder"},
		"$1 \\1 %s":                         {"$1 \\1 %s", "$1 \\1 %s"},
	} {
		for name, want := range map[string]string{"Ana": want.named, "www.evil.test": want.unnamed, "<b>": want.unnamed} {
			d := pdf.Document{
				Locale:  "en",
				Company: pdf.Company{Name: "{firstName}\r\n & Sons"},
				Lead: lead.Lead{
					ID:      "f81d4fae-7dec",
					Contact: lead.Contact{FirstName: name},
				},
				CreatedAt: time.Date(2026, time.March, 4, 23, 30, 0, 0, time.UTC),
			}
			texts := pdf.Texts{ValidityDays: 7, ByLocale: map[string]map[string]string{"en": {pdf.Terms: text}}}
			if err := d.SetTexts(&texts); err != nil || d.Texts[pdf.Terms] != want {
				t.Errorf("%q for %s became %q, %v, want %q", text, name, d.Texts[pdf.Terms], err, want)
			}
		}
	}
}

// TestValidity checks that the price rules' last day precedes that of the texts, which
// changes no lead.
func TestValidity(t *testing.T) {
	t.Parallel()
	texts := pdf.Texts{ValidityDays: 7}
	for _, tt := range []struct {
		price *lead.Price
		want  string
	}{
		{nil, "2026-03-11"},
		{&lead.Price{}, "2026-03-11"},
		{&lead.Price{ValidUntil: "2026-04-03"}, "2026-04-03"},
	} {
		at := time.Date(2026, time.March, 3, 22, 30, 0, 0, time.UTC) // 00:30 of the next day
		l := lead.Lead{Price: tt.price, SubmittedAt: at}
		d := pdf.Document{Lead: l, Locale: "ro", CreatedAt: at.In(time.FixedZone("EET", 2*60*60))}
		if err := d.SetTexts(&texts); err != nil || d.Lead.Price.ValidUntil != tt.want {
			t.Errorf("%+v: valid until %s, %v, want %s", tt.price, d.Lead.Price.ValidUntil, err, tt.want)
		}
		if tt.price != nil && tt.price.ValidUntil == "2026-03-11" {
			t.Error("the lead was changed")
		}
	}
}

// TestTextsGrowTheDocument checks that the longest texts take more pages, none of which
// loses a word.
func TestTextsGrowTheDocument(t *testing.T) {
	t.Parallel()
	d := pdf.Document{Locale: "en", Texts: map[string]string{
		pdf.QuoteIntro: strings.Repeat("introduction ", 153) + "ends1",
		pdf.Terms:      strings.Repeat("condition\n", 199) + "ends2",
	}}
	out := tool(t, render(t, renderer(t), d), "pdftotext", "FILE", "-")
	for word, want := range map[string]int{"introduction": 153, "condition": 199, "ends1": 1, "ends2": 1} {
		if got := strings.Count(out, word); got != want {
			t.Errorf("%q is printed %d times, want %d", word, got, want)
		}
	}
	if strings.Count(out, "\f") < 4 {
		t.Errorf("it has %d pages", strings.Count(out, "\f"))
	}
}
