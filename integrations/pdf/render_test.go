package pdf_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
	"siteapi/integrations/pdf"
	"siteapi/integrations/pdf/pdftest"
)

// tool runs a program on a file and returns its output. FILE in args is replaced by the
// name of the file.
func tool(t *testing.T, file []byte, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("SITEAPI_TEST_SERVICES") == "required" {
			t.Fatalf("%s is not installed", name)
		}
		t.Skipf("%s is not installed", name)
	}

	path := filepath.Join(t.TempDir(), "quote.pdf")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "FILE", path)
	}

	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v\n%s%s", name, err, out, stderr.Bytes())
	}
	return string(out)
}

func renderer(t testing.TB) *pdf.Renderer {
	t.Helper()
	return pdf.New(zerolog.Nop())
}

func render(t testing.TB, r *pdf.Renderer, d pdf.Document) []byte {
	t.Helper()
	file, err := r.Render(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// priced adds prices to a document: of all choices but one, with long amounts.
func priced(d pdf.Document) pdf.Document {
	selections := d.Lead.Selections
	price := &lead.Price{ValidUntil: "2026-04-03", Unpriced: []string{selections.Complexity}}
	price.Lines = []lead.PriceLine{
		{Field: "projectType", Slug: selections.ProjectType, Amount: 12000.5},
		{Field: "timeline", Slug: selections.Timeline},
		{Field: lead.LineMinimum, Amount: 999999999.99},
		{Field: lead.LineRounding, Amount: -20},
	}
	for _, slug := range selections.Features {
		price.Lines = append(price.Lines, lead.PriceLine{Field: "features", Slug: slug, Amount: 1800})
	}
	d.Lead.Price, d.Lead.PriceStatus = price, lead.Unpriced
	return d
}

// TestSamples checks every sample in every language, with and without prices, with
// independent programs.
func TestSamples(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	pages := map[string]int{ // the others: one
		"longest": 3, "en longest priced": 3, "es longest priced": 4, "ro longest priced": 4,
	}
	for _, locale := range []string{"en", "es", "ro"} {
		for _, kind := range pdftest.Kinds() {
			sample := pdftest.Sample(locale, kind)
			for name, d := range map[string]pdf.Document{kind: sample, kind + " priced": priced(sample)} {
				t.Run(locale+" "+name, func(t *testing.T) {
					t.Parallel()
					file := render(t, r, d)
					if len(file) >= 60_000 && kind != "longest" {
						t.Errorf("the file has %d bytes", len(file))
					}

					checkSyntax(t, file)
					checkFonts(t, file)
					checkInformation(t, file, d, max(1, pages[name], pages[locale+" "+name]))
					checkPlaces(t, file)
				})
			}
		}
	}
}

func checkSyntax(t *testing.T, file []byte) {
	t.Helper()
	if out := tool(t, file,
		"qpdf", "--check", "FILE"); !strings.Contains(out, "No syntax or stream encoding errors") {
		t.Errorf("qpdf reports: %s", out)
	}
}

func checkFonts(t *testing.T, file []byte) {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(tool(t, file, "pdffonts", "FILE")), "\n")[2:]
	for _, row := range rows {
		if !regexp.MustCompile(`CID TrueType +Identity-H +yes \w+ +yes `).MatchString(row) {
			t.Errorf("a font is not embedded, or its text can't be searched: %s", row)
		}
	}

	if len(rows) != 2 {
		t.Errorf("there are %d fonts", len(rows))
	}
}

func checkInformation(t *testing.T, file []byte, d pdf.Document, pages int) {
	t.Helper()
	if !bytes.Contains(file, []byte("/Lang ("+d.Locale+")")) {
		t.Errorf("the language is not %s", d.Locale)
	}

	title := map[string]string{
		"en": "Project estimate",
		"es": "Presupuesto orientativo",
		"ro": "Estimare de preț",
	}[d.Locale]

	out := tool(t, file, "pdfinfo", "-isodates", "FILE")
	for _, want := range []string{
		`Title: +` + title + ` F81D4FAE`,
		`Author: +` + d.Company.Name,
		`A4`,
		`Pages: +` + strconv.Itoa(pages),
		`CreationDate: +2026-03-04T10:30:15`,
		`ModDate: +2026-03-04T10:30:15`,
	} {
		if !regexp.MustCompile(`(?m)`+want).MatchString(out) &&
			(d.Company.Name != "" || !strings.HasPrefix(want, "Author")) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// word is a word on a page. Its coordinates are points from the page's top left corner.
type word struct {
	X0   float64 `xml:"xMin,attr"`
	Y0   float64 `xml:"yMin,attr"`
	X1   float64 `xml:"xMax,attr"`
	Y1   float64 `xml:"yMax,attr"`
	Text string  `xml:",chardata"`
}

func words(t *testing.T, file []byte) [][]word {
	t.Helper()
	var found struct {
		Pages []struct {
			Words []word `xml:"word"`
		} `xml:"body>doc>page"`
	}

	decoder := xml.NewDecoder(strings.NewReader(tool(t, file, "pdftotext", "-bbox", "FILE", "-")))
	decoder.Strict, decoder.Entity = false, xml.HTMLEntity
	if err := decoder.Decode(&found); err != nil {
		t.Fatal(err)
	}

	out := make([][]word, len(found.Pages))
	for i, page := range found.Pages {
		out[i] = page.Words
	}
	return out
}

// checkPlaces checks that every word is inside the margins and that no words overlap.
func checkPlaces(t *testing.T, file []byte) {
	t.Helper()
	const mm = 72 / 25.4
	for number, page := range words(t, file) {
		for i, w := range page {
			if w.X0 < 19*mm || w.X1 > 190.5*mm || w.Y0 < 12*mm || w.Y1 > 292*mm {
				t.Errorf("page %d: %q is outside the margins: %+v", number+1, w.Text, w)
			}

			for _, other := range page[:i] {
				// Boxes are as high as the type's body, so only the middle of a line
				// counts.
				high, otherHigh := (w.Y1-w.Y0)/4, (other.Y1-other.Y0)/4
				if w.X0 < other.X1-0.3 && other.X0 < w.X1-0.3 &&
					w.Y0+high < other.Y1-otherHigh && other.Y0+otherHigh < w.Y1-high {
					t.Errorf("page %d: %q overlaps %q", number+1, w.Text, other.Text)
				}
			}
		}

		if last := page[len(page)-1].Text; last != strconv.Itoa(len(words(t, file))) {
			t.Errorf("page %d ends with %q, not with the number of pages", number+1, last)
		}
	}
}

// TestEveryFieldOfALeadIsPrinted fails if the document lacks a field of the lead.
func TestEveryFieldOfALeadIsPrinted(t *testing.T) {
	t.Parallel()
	printed := func(l *lead.Lead) string {
		d := pdftest.Sample("en", "minimal")
		d.Lead = *l
		d.Lead.Price = nil // Amounts would leave less room for the paths.
		return tool(t, render(t, renderer(t), d), "pdftotext", "FILE", "-")
	}
	complete := printed(leadtest.Filled())
	if printed(leadtest.BeforeWork()) != complete {
		t.Error("the PDF contains the operators' work on the lead")
	}

	for _, path := range leadtest.Fields() {
		shown := printed(leadtest.Without(path)) != complete
		switch part, _, _ := strings.Cut(path, "."); part {
		case "submittedAt", "locale": // The document has its own date and language.
		case "priceStatus": // It is shown only if a price is to be confirmed.
		case "sessionId": // It belongs to the browser, not to the visitor.
		case "message", "attribution", "firstAttribution", "consents":
			if shown {
				t.Errorf("the PDF repeats %s, but free text must not reach strangers, and the rest is for operators", path)
			}
		default:
			if !shown {
				t.Errorf("integrations/pdf/summary.go, or sheet.go, does not print %s: print it, or exclude it in this test", path)
			}
		}
	}
}

// TestPageBreaks checks that 14 features fit on a page, and that the note is never alone
// on the last one.
func TestPageBreaks(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	for locale, heading := range map[string]string{"en": "What happens next", "es": "Próximos pasos", "ro": "Pașii următori"} {
		for n := 8; n <= 50; n += 6 {
			d := pdftest.Sample(locale, "typical")
			features := &d.Lead.Selections.Features
			for i := len(*features); i < n; i++ {
				*features = append(*features, "another-feature-"+strconv.Itoa(i))
			}

			file := render(t, r, d)
			pages := strings.Split(tool(t, file, "pdftotext", "FILE", "-"), "\f")
			pages = pages[:len(pages)-1] // Each page ends with a form feed.
			if last := pages[len(pages)-1]; n <= 14 && len(pages) != 1 || !strings.Contains(last, heading) {
				t.Errorf("%s: with %d features there are %d pages, the last with %q", locale, n, len(pages), last)
			}
			checkPlaces(t, file)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	out := tool(t, render(t, renderer(t), pdftest.Sample("en", "typical")), "pdfinfo", "-url", "FILE")
	for _, want := range []string{"tel:+40215550123", "mailto:hello@ateliernord.example"} {
		if strings.Count(out, want) != 1 {
			t.Errorf("no link %s in\n%s", want, out)
		}
	}
}

func TestRenderIsDeterministic(t *testing.T) {
	t.Parallel()
	one, other := renderer(t), renderer(t)
	var group sync.WaitGroup
	for i, kind := range pdftest.Kinds() {
		d := pdftest.Sample([]string{"en", "es", "ro"}[i], kind)
		want := render(t, one, d)

		for _, r := range []*pdf.Renderer{one, other, one, other} {
			group.Go(func() {
				if got, err := r.Render(context.Background(), d); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: the same document yielded other bytes (%v)", kind, err)
				}
			})
		}

		later := d
		later.CreatedAt = d.CreatedAt.Add(time.Second)
		if bytes.Equal(render(t, one, later), want) {
			t.Errorf("%s: a document created a second later yielded the same bytes", kind)
		}
	}
	group.Wait()
}

func TestAnUnknownLocaleIsEnglish(t *testing.T) {
	t.Parallel()
	text := tool(t, render(t, renderer(t), pdftest.Sample("xx", "minimal")), "pdftotext", "FILE", "-")
	if !strings.HasPrefix(text, "Project estimate") {
		t.Errorf("the document begins with %q", text)
	}
}
