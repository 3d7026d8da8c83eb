package pdf_test

import (
	"testing"

	"siteapi/integrations/pdf"
	"siteapi/integrations/pdf/pdfbench"
)

func TestNewRefusesAMalformedAccent(t *testing.T) {
	t.Parallel()
	for accent, ok := range map[string]bool{"": true, "#1f4fd8": true, "#1F4FD8": true, "1f4fd8": false, "#fff": false, "red": false, "#gggggg": false} {
		if _, err := pdf.New(pdf.Options{Accent: accent}); (err == nil) != ok {
			t.Errorf("%q: %v", accent, err)
		}
	}
}

// BenchmarkFirst is how long the first document takes after a start, fonts and all.
func BenchmarkFirst(b *testing.B) {
	d := pdfbench.Sample("en", "minimal")
	for b.Loop() {
		r, err := pdf.New(pdf.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Render(b.Context(), d); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNew is what the renderer adds to the start of the process.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := pdf.New(pdf.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
