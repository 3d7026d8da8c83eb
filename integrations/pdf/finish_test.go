package pdf

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/quote"
)

// rawFile returns a file as the library writes it.
func rawFile(t *testing.T) []byte {
	t.Helper()
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.sheet(&Document{CreatedAt: time.Unix(0, 0), Submission: quote.Submission{ID: "abc", Estimate: quote.Estimate{Min: 1, Max: 2, Currency: "EUR"}}})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := s.draw()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestFinishRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	raw := rawFile(t)
	for name, file := range map[string][]byte{
		"nothing":              nil,
		"not a PDF":            []byte("hello"),
		"no end":               raw[:len(raw)-30],
		"a start past the end": bytes.Replace(raw, []byte("startxref\n"), []byte("startxref\n9"), 1),
		"no table":             bytes.Replace(raw, []byte("xref\n0 "), []byte("yref\n0 "), 1),
		"too few rows":         bytes.Replace(raw, []byte("xref\n0 "), []byte("xref\n0 9"), 1),
		"a row without digits": bytes.Replace(raw, []byte(" 00000 n \n0"), []byte(" 00000 n \nx"), 1),
		"no information":       bytes.ReplaceAll(raw, []byte("/CreationDate"), []byte("/CreationDote")),
		"another version":      bytes.Replace(raw, []byte("%PDF-1."), []byte("%PDF-2."), 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := newFinisher().finish(file, metadata{}); err == nil {
				t.Error("it was accepted")
			}
		})
	}
}

func TestFinishWritesMetadata(t *testing.T) {
	t.Parallel()
	m := metadata{title: "Preț (1) \\ 🚀", author: "", lang: "ro", created: time.Date(2026, 3, 4, 12, 30, 15, 0, time.FixedZone("", 7200))}
	file, err := newFinisher().finish(rawFile(t), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"%PDF-1.4\n",
		"/Title <FEFF" + "0050" + "0072" + "0065" + "021B" + "0020" + "0028" + "0031" + "0029" + "0020" + "005C" + "0020" + "D83DDE80>",
		"/CreationDate (D:20260304103015Z)", "/ModDate (D:20260304103015Z)", "/Lang (ro)", "/DisplayDocTitle true", "/ID [<",
	} {
		if !bytes.Contains(file, []byte(want)) {
			t.Errorf("the file has no %s", want)
		}
	}
	for _, unwanted := range []string{"/Author", "/utf8", "FPDF"} {
		if bytes.Contains(file, []byte(unwanted)) {
			t.Errorf("the file has %s", unwanted)
		}
	}
	if n := strings.Count(string(file), "+LiberationSans"); n != 6 {
		t.Errorf("the fonts are named %d times, want 6", n)
	}
}
