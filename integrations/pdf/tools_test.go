package pdf_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"siteapi/integrations/pdf"
	"siteapi/integrations/pdf/boxes"
	"siteapi/integrations/pdf/pdfbench"
)

// tool runs a program on a file and returns what it prints. Without the program the
// test is skipped, unless the suite is told that it must be there.
func tool(t *testing.T, file []byte, name string, args ...string) []byte {
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
	return out
}

func checkSyntax(t *testing.T, file []byte) {
	t.Helper()
	out := tool(t, file, "qpdf", "--check", "FILE")
	if !bytes.Contains(out, []byte("No syntax or stream encoding errors")) {
		t.Errorf("qpdf says: %s", out)
	}
}

func checkFonts(t *testing.T, file []byte) {
	t.Helper()
	out := string(tool(t, file, "pdffonts", "FILE"))
	rows := strings.Split(strings.TrimSpace(out), "\n")[2:]
	if len(rows) != 2 {
		t.Fatalf("there are not two fonts:\n%s", out)
	}
	for _, row := range rows {
		if !regexp.MustCompile(`^[A-Z]{6}\+LiberationSans(-Bold)? +CID TrueType +Identity-H +yes yes yes `).MatchString(row) {
			t.Errorf("not an embedded subset that can be searched: %s", row)
		}
	}
}

func checkInformation(t *testing.T, file []byte, d pdf.Document) {
	t.Helper()
	if !bytes.Contains(file, []byte("/Lang ("+d.Locale+")")) {
		t.Errorf("the language is not %s", d.Locale)
	}
	out := string(tool(t, file, "pdfinfo", "-isodates", "FILE"))
	title := map[string]string{"en": "Project estimate", "es": "Presupuesto orientativo", "ro": "Estimare de preț"}[d.Locale]
	wants := []string{`Title: +` + title + ` F81D4FAE`, `CreationDate: +2026-03-04T10:30:15Z`, `ModDate: +2026-03-04T10:30:15Z`, `A4`}
	if d.Company.Name != "" {
		wants = append(wants, `Author: +`+d.Company.Name)
	}
	for _, want := range wants {
		if !regexp.MustCompile(`(?m)` + want).MatchString(out) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// checkWords checks that the texts are found by a program that did not
// make them, at the places where they were meant to stand.
func checkWords(t *testing.T, file []byte, pages []boxes.Page) {
	t.Helper()
	var found struct {
		Pages []struct {
			Words []struct {
				X0   float64 `xml:"xMin,attr"`
				Y0   float64 `xml:"yMin,attr"`
				X1   float64 `xml:"xMax,attr"`
				Y1   float64 `xml:"yMax,attr"`
				Text string  `xml:",chardata"`
			} `xml:"word"`
		} `xml:"body>doc>page"`
	}
	decoder := xml.NewDecoder(bytes.NewReader(tool(t, file, "pdftotext", "-bbox", "FILE", "-")))
	decoder.Strict, decoder.Entity = false, xml.HTMLEntity
	if err := decoder.Decode(&found); err != nil {
		t.Fatal(err)
	}
	if len(found.Pages) != len(pages) {
		t.Fatalf("%d pages are found of %d", len(found.Pages), len(pages))
	}
	const mm = 25.4 / 72
	for i, page := range pages {
		for _, m := range page {
			if m.Kind != boxes.Text {
				continue
			}
			first := strings.FieldsFunc(m.Text, func(r rune) bool { return r == ' ' || r == '\u00a0' })[0]
			ok := false
			for _, w := range found.Pages[i].Words {
				baseline := m.Y > w.Y0*mm && m.Y < w.Y1*mm
				if baseline && w.X0*mm > m.X-0.3 && w.X0*mm < m.X+0.3 && strings.HasPrefix(w.Text, first) {
					ok = true
					break
				}
			}
			if !ok {
				t.Errorf("page %d: %q is not found at %.1f, %.1f", i+1, first, m.X, m.Y)
			}
		}
	}
}

func TestRomanianExtractsWithCommaBelow(t *testing.T) {
	t.Parallel()
	d := pdfbench.Sample("ro", "typical")
	file, _ := render(t, renderer(t), d)
	text := string(tool(t, file, "pdftotext", "-layout", "FILE", "-"))
	for _, want := range []string{"Estimare de preț", "Ștefania Núñez Țurcanu", "București", "Funcționalități", "Pașii următori", "Între trei și șase luni"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
}

// The pictures are compared as grids of cells that say how dark the paper is, 0 to f,
// kept as text: small, and a difference can be read.
const (
	gridColumns = 70
	gridRows    = 99
)

// checkPictures compares pages as a reader sees them with golden pictures. Single cells
// may differ a little, since renderers smooth letters differently.
func checkPictures(t *testing.T, file []byte, name string, pages int) {
	t.Helper()
	for number := 1; number <= pages; number++ {
		page := strconv.Itoa(number)
		got := darkness(t, tool(t, file, "pdftoppm", "-gray", "-r", "60", "-f", page, "-l", page, "FILE"))
		path := filepath.Join("testdata", "pictures", name+"-"+page+".txt")
		if *update {
			golden(t, path, got)
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if mean, worst := difference(got, string(want)); mean > 0.15 || worst > 6 {
			t.Errorf("%s: cells differ by %.2f in the mean and %d at most, of 15", path, mean, worst)
		}
	}
}

// darkness turns a picture in the PGM format into a grid of cells.
func darkness(t *testing.T, pgm []byte) string {
	t.Helper()
	var w, h, most int
	var head string
	if _, err := fmt.Sscan(string(pgm[:40]), &head, &w, &h, &most); err != nil || head != "P5" || most != 255 {
		t.Fatalf("the picture begins with %q (%v)", pgm[:20], err)
	}
	pixels := pgm[len(pgm)-w*h:]
	var out strings.Builder
	for row := range gridRows {
		for column := range gridColumns {
			var sum, n int
			for y := row * h / gridRows; y < (row+1)*h/gridRows; y++ {
				for x := column * w / gridColumns; x < (column+1)*w/gridColumns; x++ {
					sum += 255 - int(pixels[y*w+x])
					n++
				}
			}
			fmt.Fprintf(&out, "%x", sum*15/(n*255))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func difference(got, want string) (mean float64, worst int) {
	if len(got) != len(want) {
		return 15, 15
	}
	var sum, n int
	for i := range len(got) {
		if got[i] == '\n' {
			continue
		}
		a, _ := strconv.ParseInt(got[i:i+1], 16, 8)
		b, _ := strconv.ParseInt(want[i:i+1], 16, 8)
		d := int(max(a-b, b-a))
		sum, n, worst = sum+d, n+1, max(worst, d)
	}
	return float64(sum) / float64(n), worst
}
