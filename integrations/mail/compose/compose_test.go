package compose_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
	"siteapi/integrations/mail"
	"siteapi/integrations/mail/compose"
	"siteapi/integrations/pdf"
	"siteapi/integrations/pdf/pdftest"
)

// composed returns both mails for a document.
func composed(t *testing.T, d *pdf.Document) (visitor, sales mail.Message) {
	t.Helper()
	visitor, err := compose.Visitor(d, "https://site.example/api/quote/page?id=f81d4fae", mail.Attachment{Name: "quote.pdf"})
	if err != nil {
		t.Fatal(err)
	}
	sales, err = compose.Sales(d, "https://site.example/admin#F81D4FAE")
	if err != nil {
		t.Fatal(err)
	}
	return visitor, sales
}

func all(m mail.Message) string { return m.Subject + "\n" + m.Text + "\n" + m.HTML }

// TestVisitorRepeatsNothing checks that the visitor's mail repeats no typed text: the
// address may belong to another person, who must not read it.
func TestVisitorRepeatsNothing(t *testing.T) {
	t.Parallel()
	d := pdf.Document{
		Lead:   *leadtest.Filled(),
		Locale: "en",
		Labels: map[string]string{"selections.features": "Web shop"},
	}
	visitor, _ := composed(t, &d)
	for _, path := range leadtest.Fields() {
		if path != "id" && path != "locale" && path != "estimate.currency" && strings.Contains(all(visitor), path) {
			t.Errorf("the visitor's mail repeats %s", path)
		}
	}
	if !strings.Contains(all(visitor), "Web shop") {
		t.Error("the visitor's mail lacks a choice that has a label")
	}
}

func TestFirstName(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"Ana":                     "Hello Ana,",
		"S\u0326tefania":          "Hello Ștefania,",
		"O’Neill":                 "Hello O’Neill,",
		"李小龍":                     "Hello 李小龍,",
		"D´Angelo":                "Hello D´Angelo,",  // an accent typed as an apostrophe
		"Mª Carmen":               "Hello Mª Carmen,", // the Spanish abbreviation of María
		"Gʻulom":                  "Hello Gʻulom,",    // Uzbek, with its own letter
		"G‘ulom":                  "Hello G‘ulom,",    // the same, as keyboards write it
		"Gal·la":                  "Hello Gal·la,",    // Catalan
		"Jean‑Luc":                "Hello Jean‑Luc,",  // a hyphen that does not break
		"علی\u200cرضا":            "Hello علی\u200cرضا,",
		"ශ්\u200dරී":              "Hello ශ්\u200dරී,",
		"ﬁona":                    "Hello ﬁona,", // a ligature pasted from a PDF
		"Ana  Maria":              "Hello Ana Maria,",
		"Ana Maria de la":         "Hello,",
		"evil.test":               "Hello,",
		"evil。test":               "Hello,",
		"Ana ²":                   "Hello,",
		"<b>Ana</b>":              "Hello,",
		"Ana\u202e":               "Hello,",
		"Ana\r\nBcc":              "Hello Ana Bcc,",
		"Your account was closed": "Hello,",
		strings.Repeat("a", 100):  "Hello,",
	} {
		d := pdftest.Sample("en", "typical")
		d.Lead.Contact.FirstName = typed
		visitor, _ := composed(t, &d)
		if first, _, _ := strings.Cut(visitor.Text, "\n"); first != want {
			t.Errorf("%q is greeted with %q, want %q", typed, first, want)
		}
	}
}

// TestSalesHasEveryField fails if a field of the lead is missing from the mail to sales.
func TestSalesHasEveryField(t *testing.T) {
	t.Parallel()
	written := func(l *lead.Lead) mail.Message {
		_, sales := composed(t, &pdf.Document{Lead: *l, Locale: "en", CreatedAt: l.SubmittedAt})
		return sales
	}
	complete := written(leadtest.Filled())

	for _, path := range leadtest.Fields() {
		switch path {
		case "consents.given", "consents.siteWording":
			continue // The mail shows the withdrawal instead.
		}

		if path == "sessionId" || path == "priceStatus" {
			continue // irrelevant to sales, or shown only if a price is to be confirmed
		}
		if less := written(leadtest.Without(path)); less.Text == complete.Text || less.HTML == complete.HTML {
			t.Errorf("Sales in sales.go leaves out %s", path)
		}
	}
}

// TestWorkIsNotMailed checks that no mail about a lead contains the operators' work on
// it.
func TestWorkIsNotMailed(t *testing.T) {
	t.Parallel()
	written := func(l *lead.Lead) string {
		visitor, sales := composed(t, &pdf.Document{Lead: *l, Locale: "en", CreatedAt: l.SubmittedAt})
		return all(visitor) + all(sales)
	}
	if written(leadtest.Filled()) != written(leadtest.BeforeWork()) {
		t.Error("a mail contains the operators' work on the lead")
	}
}

// TestSalesReadsConsents checks that the mail to sales has the visitor's answer and the
// wording for each purpose.
func TestSalesReadsConsents(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	for locale, want := range map[string][]string{
		"en": {"News: given · Send me news.", "Calls: not given · Call me.", "Ads: withdrawn on 31 January 2026", "Terms: given, not to the site's wording"},
		"es": {"News: otorgado · Send me news.", "Calls: no otorgado · Call me.", "Ads: retirado el 31 de enero de 2026", "Terms: otorgado, con un texto"},
		"ro": {"News: acordat · Send me news.", "Calls: neacordat · Call me.", "Ads: retras pe 31 ianuarie 2026", "Terms: acordat, cu alt text"},
	} {
		d := pdftest.Sample(locale, "typical")
		d.Lead.Consents = []lead.Consent{
			{Purpose: "news", Given: true, Text: "Send me\nnews.", SiteWording: true},
			{Purpose: "calls", Text: "Call me.", SiteWording: true},
			{Purpose: "ads", Given: true, WithdrawnAt: &at},
			{Purpose: "terms", Given: true},
		}
		visitor, sales := composed(t, &d)
		for _, line := range want {
			if !strings.Contains(sales.Text, line) || strings.Contains(visitor.Text, line) {
				t.Errorf("%s: %q is missing from the mail to sales, or present in the visitor's: %s", locale, line, sales.Text)
			}
		}
	}
}

// TestUnpricedChoicesAreMarked checks that the visitor's mail marks choices that have a
// label but no price, and omits choices without a label.
func TestUnpricedChoicesAreMarked(t *testing.T) {
	t.Parallel()
	d := pdf.Document{
		Lead: lead.Lead{
			Selections: lead.Selections{
				ProjectType: "shop",
				Features:    []string{"blog", "seo", "call-0900-now"},
				Timeline:    "blog",
			},
			Estimate:    lead.Estimate{Min: 1, Max: 2, Currency: "EUR"},
			PriceStatus: lead.Unpriced,
			Price: &lead.Price{
				Lines:    []lead.PriceLine{{Field: "projectType", Slug: "shop"}, {Field: "features", Slug: "blog"}},
				Unpriced: []string{"seo", "call-0900-now", "blog"},
			},
		},
		Labels: map[string]string{"shop": "Web shop", "blog": "Journal", "seo": "Search"},
	}
	for locale, open := range map[string]string{
		"en": "to be confirmed",
		"es": "por confirmar",
		"ro": "de confirmat",
	} {
		d.Locale = locale
		visitor, _ := composed(t, &d)
		for _, form := range []string{visitor.Text, visitor.HTML} {
			for text, times := range map[string]int{
				strings.ToUpper(open[:1]) + open[1:]: 1, // below the range
				"Search (" + open + ")":              1,
				"Journal (" + open + ")":             1, // as a timeline
				"Journal":                            2,
				"Web shop (" + open + ")":            0,
				"call-0900":                          0,
			} {
				if n := strings.Count(form, text); n != times {
					t.Errorf("%s: %q occurs %d times, want %d: %s", locale, text, n, times, form)
				}
			}
		}
	}
}

// tags matches what only the HTML has, and mark what only the text has.
var (
	tags = regexp.MustCompile(`(?s)<style>.*</style>|<[^>]*>`)
	mark = regexp.MustCompile(`^(- |\d\. |--$)`)
)

// TestBothForms checks that the HTML has all parts of the text.
func TestBothForms(t *testing.T) {
	t.Parallel()
	for _, locale := range []string{"en", "es", "ro"} {
		d := pdftest.Sample(locale, "typical")
		visitor, sales := composed(t, &d)
		for _, m := range []mail.Message{visitor, sales} {
			page := strings.ToLower(html.UnescapeString(tags.ReplaceAllString(m.HTML, " ")))
			page = strings.ReplaceAll(page, "\u00a0", " ")
			for line := range strings.Lines(m.Text) {
				line = mark.ReplaceAllString(strings.TrimSpace(line), "")
				for _, part := range strings.Split(line, ": ") {
					part = strings.ToLower(strings.TrimSuffix(part, ":"))
					if !strings.Contains(page, part) && !strings.HasPrefix(part, "https:") {
						t.Errorf("%s: the HTML lacks %q", locale, part)
					}
				}
			}
			if m.Locale != locale || !strings.Contains(m.HTML, `lang="`+locale+`"`) {
				t.Errorf("%s: the mail does not declare its language", locale)
			}
		}
	}
}

// TestNothingIsMarkup checks that typed markup stays text.
func TestNothingIsMarkup(t *testing.T) {
	t.Parallel()
	const typed = `"><script>x</script>&copy;`
	d := pdftest.Sample("en", "typical")
	d.Lead.Contact.FirstName, d.Lead.Contact.LastName = typed, typed
	d.Lead.Contact.Company, d.Lead.Contact.Phone = typed, typed
	d.Lead.Contact.Email = `a?bcc=x@evil.test`
	d.Company.Name, d.Company.Accent = typed, `red;"><script>`
	d.Labels = map[string]string{d.Lead.Selections.ProjectType: typed}
	visitor, sales := composed(t, &d)
	for _, m := range []mail.Message{visitor, sales} {
		if strings.Contains(m.HTML, "<script") || strings.Contains(m.HTML, "&copy;") {
			t.Errorf("typed markup was not escaped: %s", m.HTML)
		}
	}
	if strings.Contains(sales.HTML, "?bcc=") && strings.Contains(sales.HTML, `href="mailto:a?bcc`) {
		t.Error("an address adds a header to the link")
	}
}
