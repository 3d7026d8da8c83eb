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
