package pdf_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/pdf"
	"siteapi/integrations/pdf/boxes"
	"siteapi/integrations/pdf/font"
	"siteapi/integrations/pdf/pdfbench"
)

var update = flag.Bool("update", false, "write the golden files anew")

func renderer(t testing.TB) *pdf.Renderer {
	t.Helper()
	r, err := pdf.New(pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func render(t testing.TB, r *pdf.Renderer, d pdf.Document) ([]byte, []boxes.Page) {
	t.Helper()
	file, err := r.Render(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := boxes.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, pages
}

// TestSamples holds every sample document in every language to what a reader and their
// tools expect of it. Each is rendered once.
func TestSamples(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	family := wideFamily(t)
	for _, locale := range []string{"en", "es", "ro"} {
		for _, kind := range pdfbench.Kinds() {
			name := locale + "-" + kind
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				d := pdfbench.Sample(locale, kind)
				file, pages := render(t, r, d)
				if len(file) >= 60_000 {
					t.Errorf("the file has %d bytes", len(file))
				}
				t.Run("boxes", func(t *testing.T) { golden(t, filepath.Join("testdata", "boxes", name+".txt"), listing(pages)) })
				t.Run("margins", func(t *testing.T) { checkMargins(t, family, pages) })
				t.Run("qpdf", func(t *testing.T) { checkSyntax(t, file) })
				t.Run("fonts", func(t *testing.T) { checkFonts(t, file) })
				t.Run("information", func(t *testing.T) { checkInformation(t, file, d) })
				t.Run("words", func(t *testing.T) { checkWords(t, file, pages) })
				t.Run("pictures", func(t *testing.T) { checkPictures(t, file, name, len(pages)) })
			})
		}
	}
}

func wideFamily(t *testing.T) *font.Family {
	t.Helper()
	family, err := font.Wide()
	if err != nil {
		t.Fatal(err)
	}
	return family
}

// listing writes down every text, bar and picture with its place.
func listing(pages []boxes.Page) string {
	var out strings.Builder
	for i, page := range pages {
		fmt.Fprintf(&out, "page %d of %d\n", i+1, len(pages))
		for _, m := range page {
			colour := fmt.Sprintf("#%02x%02x%02x", m.Colour[0], m.Colour[1], m.Colour[2])
			switch {
			case m.Kind == boxes.Text && m.Bold:
				fmt.Fprintf(&out, "%7.2f %7.2f bold %5.2f %s %s\n", m.X, m.Y, m.Size, colour, m.Text)
			case m.Kind == boxes.Text:
				fmt.Fprintf(&out, "%7.2f %7.2f text %5.2f %s %s\n", m.X, m.Y, m.Size, colour, m.Text)
			default:
				fmt.Fprintf(&out, "%7.2f %7.2f %s %.2f × %.2f %s\n", m.X, m.Y, m.Kind, m.W, m.H, colour)
			}
		}
	}
	return out.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("%s differs in line %d (write it anew with -update if that is meant)\n got %s\nwant %s", path, i+1, a[i], b[i])
		}
	}
	t.Fatalf("%s has %d lines, the page %d", path, len(b), len(a))
}

// checkMargins measures every text: inside the margins, off the foot, and no two on top
// of each other.
func checkMargins(t *testing.T, family *font.Family, pages []boxes.Page) {
	t.Helper()
	for i, page := range pages {
		var placed []boxes.Mark
		for _, m := range page {
			if m.Kind == boxes.Text {
				face := family.Regular
				if m.Bold {
					face = family.Bold
				}
				m.W = float64(face.Width(m.Text)) * m.Size * 25.4 / 72 / 1000
				m.H = m.Size * 25.4 / 72
				for _, other := range placed {
					if m.X < other.X+other.W-0.1 && other.X < m.X+m.W-0.1 && m.Y-0.7*m.H < other.Y-0.05 && other.Y-0.7*other.H < m.Y-0.05 {
						t.Errorf("page %d: %q lies on %q", i+1, m.Text, other.Text)
					}
				}
				placed = append(placed, m)
			}
			if m.X < 19.5 || m.X+m.W > 190.1 || m.Y < 15 || m.Y > 290 {
				t.Errorf("page %d: %s %q reaches from %.1f to %.1f, at %.1f", i+1, m.Kind, m.Text, m.X, m.X+m.W, m.Y)
			}
		}
		if want := fmt.Sprintf("%d", len(pages)); !strings.Contains(page[len(page)-1].Text, want) {
			t.Errorf("page %d ends with %q, not with its number of %s", i+1, page[len(page)-1].Text, want)
		}
	}
}

// hostile returns documents with texts that are out to break the page.
func hostile() map[string]pdf.Document {
	out := map[string]pdf.Document{}
	for name, text := range map[string]string{
		"control characters": "a\x00b\x1b[2Jc\r\n\tde\x7f",
		"PDF syntax":         `) Tj ET Q endstream endobj (\\ <<>> %%EOF`,
		"direction":          "\u202eevil\u202c \u2067x\u2069 \u200f",
		"Arabic":             "محمد علي الكاتب",
		"Hebrew":             "דוד בן גוריון 12",
		"Cyrillic and Greek": "Юлия Щукина Ωμέγα ΐ",
		"emoji":              "👩‍👩‍👧‍👦🚀🏳️‍🌈 1️⃣",
		"astral":             "\U00010000\U0001d400\U0010ffff\uffff\ufffd",
		"combining":          "Z" + strings.Repeat("\u0301\u0336", 200),
		"wide letters":       strings.Repeat("W", 100),
		"no letters":         strings.Repeat("\u200b", 1000),
		"very long":          strings.Repeat("Lorem ipsum ", 5000),
		"line breaks":        strings.Repeat("\n", 500) + "x",
		"broken UTF-8":       "\xff\xfe\xc3(\xe2\x82",
		"carriage byte":      "č ġ \u0d0d \u010d\u0d0a", // bytes that mean line ends in UTF-16
	} {
		d := pdfbench.Sample("es", "typical")
		d.Company.Name = text
		d.Company.Lines = []string{text, text}
		c := &d.Submission.Contact
		c.FirstName, c.LastName, c.Company, c.Email, c.Phone = text, text, text, text, text
		d.Labels = map[string]string{"blog": text, "online-shop": text, "moderate": text}
		d.Submission.Estimate.Currency = text
		out[name] = d
	}
	return out
}

func TestHostileTextIsHarmless(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	family := wideFamily(t)
	for name, d := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, pages := render(t, r, d)
			var all strings.Builder
			for _, page := range pages {
				for _, m := range page {
					all.WriteString(m.Text)
				}
			}
			for _, want := range []string{"Presupuesto orientativo", "Próximos pasos", "F81D4FAE"} {
				if !strings.Contains(all.String(), want) {
					t.Errorf("the document lacks %q", want)
				}
			}
			if strings.ContainsFunc(all.String(), func(r rune) bool { return r < ' ' || r >= 0x202a && r <= 0x202e || r > 0xffff }) {
				t.Errorf("a control character or a pictograph came through: %q", all.String())
			}
			checkMargins(t, family, pages)
			checkSyntax(t, file)
		})
	}
}

func TestRenderIsDeterministic(t *testing.T) {
	t.Parallel()
	one, other := renderer(t), renderer(t)
	for i, kind := range pdfbench.Kinds() {
		d := pdfbench.Sample([]string{"en", "es", "ro"}[i], kind)
		want, _ := render(t, one, d)
		for _, r := range []*pdf.Renderer{one, other, other} {
			if got, _ := render(t, r, d); !bytes.Equal(got, want) {
				t.Fatalf("%s: the same document gave other bytes", kind)
			}
		}
		d.CreatedAt = d.CreatedAt.Add(time.Second)
		if got, _ := render(t, one, d); bytes.Equal(got, want) {
			t.Errorf("%s: a document of another second gave the same bytes", kind)
		}
	}
}

func TestRenderConcurrently(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	want := map[string][]byte{}
	for _, locale := range []string{"en", "es", "ro"} {
		want[locale], _ = render(t, r, pdfbench.Sample(locale, "typical"))
	}
	fresh := renderer(t) // nothing prepared: the first renders meet
	var group sync.WaitGroup
	for i := range 12 {
		locale := []string{"en", "es", "ro"}[i%3]
		group.Go(func() {
			got, err := fresh.Render(context.Background(), pdfbench.Sample(locale, "typical"))
			if err != nil || !bytes.Equal(got, want[locale]) {
				t.Errorf("%s differs under load (%v)", locale, err)
			}
		})
	}
	group.Wait()
}

func TestRenderOfAnEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := renderer(t).Render(ctx, pdfbench.Sample("en", "minimal")); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestUnknownLocaleIsEnglish(t *testing.T) {
	t.Parallel()
	file, pages := render(t, renderer(t), pdfbench.Sample("fr", "minimal"))
	if !bytes.Contains(file, []byte("/Lang (en)")) || pages[0][1].Text != "Project estimate" {
		t.Errorf("the document begins with %q", pages[0][1].Text)
	}
}

func TestUnusableLogoIsLeftOut(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	for _, logo := range []string{"GIF89a", "\x89PNG\r\n\x1a\nbroken", "<svg/>", "<html>"} {
		d := pdfbench.Sample("en", "typical")
		d.Company.Logo = []byte(logo)
		_, pages := render(t, r, d)
		if first := pages[0][0]; first.Text != d.Company.Name || first.Size < 14 {
			t.Errorf("%q: the page begins with %q in %.0f points", logo, first.Text, first.Size)
		}
		for _, m := range pages[0] {
			if m.Kind == boxes.Picture || strings.Contains(m.Text, "could not") {
				t.Errorf("%q: the page has a picture or an excuse: %q", logo, m.Text)
			}
		}
	}
}
