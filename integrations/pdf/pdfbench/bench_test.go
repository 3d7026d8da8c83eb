package pdfbench_test

import (
	"testing"

	"siteapi/integrations/pdf/pdfbench"
)

func prepared(b *testing.B) *pdfbench.Bench {
	b.Helper()
	bench, err := pdfbench.New(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return bench
}

func BenchmarkColdRender(b *testing.B) {
	bench := prepared(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bench.Cold(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBareFpdf(b *testing.B) {
	bench := prepared(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bench.Bare(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFullFont(b *testing.B) {
	bench := prepared(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bench.FullFont(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRatios reports the goal figures: the ways are drawn in turn, so the ratios
// hold on a busy machine too.
func BenchmarkRatios(b *testing.B) {
	bench := prepared(b)
	var result pdfbench.Result
	for b.Loop() {
		var err error
		if result, err = bench.Measure(b.Context(), 101); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(result.VsFpdf(), "vs-fpdf")
	b.ReportMetric(result.VsFullFont(), "vs-fullfont")
	b.ReportMetric(float64(result.Cold.Microseconds()), "cold-µs")
	b.ReportMetric(float64(result.Bytes), "bytes")
}
