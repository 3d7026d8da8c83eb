package pdf_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"golang.org/x/text/unicode/norm"

	"siteapi/integrations/pdf"
	"siteapi/integrations/pdf/pdftest"
)

func TestLettersThatTheTypefaceLacksAreShownAndLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := pdf.New(zerolog.New(&log))
	d := pdftest.Sample("en", "minimal")
	d.Lead.Contact.FirstName, d.Lead.Contact.LastName = "李小龍", "محمد  Ω\te\ufb03cient a\u202eb\x00c"

	text := tool(t, render(t, r, d), "pdftotext", "FILE", "-")
	if !strings.Contains(text, "□□□ □□□□ Ω efficient abc") {
		t.Errorf("the name is missing:\n%s", text)
	}
	if got := log.String(); !strings.Contains(got, `"scripts":["Arabic","Han"]`) ||
		strings.Contains(got, "李") {
		t.Errorf("the log has %s", got)
	}

	d.Lead.Contact.FirstName, d.Lead.Contact.LastName = "🦄", "★"
	text = tool(t, render(t, r, d), "pdftotext", "FILE", "-")
	if !strings.Contains(text, "□") || !strings.Contains(log.String(), `"scripts":["Symbols"]`) {
		t.Errorf("a name of pictographs is missing or not logged:\n%s", text)
	}
}

// TestNames checks that names of the Latin, Greek and Cyrillic alphabets are printed with
// all their letters and marks.
func TestNames(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := pdf.New(zerolog.New(&log))
	for name, why := range map[string]string{
		"Ştefan Țurcanu": "Romanian, with a cedilla and a comma",
		"Məmməd":         "Azerbaijani: the schwa is an IPA letter in Unicode",
		"Kɔfi Ɛsi":       "Akan: the open o is another one",
		"Haɗiza Ɓala":    "Hausa: letters with hooks, one of each case in another block",
		"Gʻulom Oʻktam":  "Uzbek: a modifier letter as an apostrophe",
		"Kaʻiulani Kāne": "Hawaiian: the same letter is a consonant",
		"Adébọ̀wálé":     "Yoruba: a dot and an accent that compose with nothing",
		"M̃baya":         "Guaraní: a tilde that composes with nothing",
		"Ragnė́":         "Lithuanian, with the accent of dictionaries",
		"Ιωάννης Παπαδόπουλος":  "Greek",
		"Ἀλέξανδρος":            "Greek with breathings",
		"Євген Ґалаґан":         "Ukrainian",
		"Әлия Қасымова":         "Kazakh: Cyrillic with further letters",
		"Жа́нна":                "Russian with a stress mark",
		"Nguyễn Thị Ngọc Ánh":   "Vietnamese",
		"Ƙasimu Ƴar’adua":       "Hausa: capitals of Latin Extended-B",
		"Tukꞌ Coꞌ":              "Mayan: the saltillo",
		"Þórdís Ægisdóttir Ĳff": "Icelandic and Dutch",
	} {
		d := pdftest.Sample("en", "minimal")
		d.Lead.Contact.FirstName, d.Lead.Contact.LastName = name, "Pop"
		text := tool(t, render(t, r, d), "pdftotext", "FILE", "-")
		if want := norm.NFC.String(name) + " Pop"; !strings.Contains(norm.NFC.String(text), want) {
			t.Errorf("%s: %s is missing:\n%s", why, want, text)
		}
	}
	if log.Len() > 0 {
		t.Errorf("letters are missing: %s", &log)
	}

	d := pdftest.Sample("en", "minimal")
	d.Lead.Contact.FirstName = "Zo\u1ab0e" // a mark of dialectology
	render(t, r, d)
	if !strings.Contains(log.String(), `"scripts":["Inherited"]`) {
		t.Errorf("a mark that cannot be drawn is not logged: %s", &log)
	}
}

func TestHostileTextIsHarmless(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	for name, text := range map[string]string{
		"control characters": "a\x00b\x1b[2Jc\r\n\tde\x7f",
		"PDF syntax":         `) Tj ET Q endstream endobj (\\ <<>> %%EOF startxref /Type /Catalog`,
		"direction":          "\u202eevil\u202c \u2067x\u2069 \u200f",
		"emoji":              "👩‍👩‍👧‍👦🚀🏳️‍🌈 1️⃣",
		"astral":             "\U00010000\U0001d400\U0010ffff\uffff\ufffd",
		"combining":          "Z" + strings.Repeat("\u0301\u0336", 200),
		"no letters":         strings.Repeat("\u200b", 1000),
		"very long":          strings.Repeat("Lorem ipsum ", 5000),
		"one word":           strings.Repeat("W", 2000),
		"one line each":      strings.Repeat("a\n", 1000),
		"broken UTF-8":       "\xff\xfe\xc3(\xe2\x82",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			d := pdftest.Sample("es", "typical")
			d.Company.Name, d.Company.Lines = text, []pdf.Line{
				{Text: text, Link: "https://example.com/" + text},
				{Text: text},
			}
			c := &d.Lead.Contact
			c.FirstName, c.LastName, c.Company, c.Email, c.Phone = text, text, text, text, text
			d.Labels = map[string]string{"blog": text, "online-shop": text, "moderate": text}
			d.Texts = map[string]string{pdf.QuoteIntro: text, pdf.Terms: text}
			d.Lead.Estimate.Currency = text

			file := render(t, r, d)
			checkSyntax(t, file)
			checkPlaces(t, file)

			all := tool(t, file, "pdftotext", "FILE", "-")
			for _, want := range []string{"Presupuesto orientativo", "Próximos pasos", "F81D4FAE"} {
				if !strings.Contains(all, want) {
					t.Errorf("the document lacks %q", want)
				}
			}
		})
	}
}
