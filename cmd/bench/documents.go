package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"siteapi/integrations/pdf/pdfbench"
)

// pdfCold compares a cold render with the same page drawn by the bare library, and by
// maroto as it comes.
func pdfCold(ctx context.Context, o options) ([]line, error) {
	b, err := pdfbench.New(ctx)
	if err != nil {
		return nil, err
	}
	r, err := b.Measure(ctx, 40*o.rounds)
	if err != nil {
		return nil, err
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return []line{
		{name: "pdf-cold-vs-fpdf", ratio: r.VsFpdf(), baseline: ms(r.Bare), value: ms(r.Cold), unit: "ms", goal: "≤ 1.10"},
		{name: "pdf-cold-vs-fullfont", ratio: r.VsFullFont(), baseline: ms(r.FullFont), value: ms(r.Cold), unit: "ms", goal: "≤ 0.45"},
		{name: "pdf-size", ratio: float64(r.Bytes) / 60_000, baseline: 60_000, value: float64(r.Bytes), unit: "bytes", goal: "< 60 KB"},
	}, nil
}

// pdfCached compares a rendered PDF from the cache with a bare handler that writes the
// same bytes.
func pdfCached(ctx context.Context, o options) ([]line, error) {
	dir, err := os.MkdirTemp("", "siteapi-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	service, err := startService(ctx, o, dir, true)
	if err != nil {
		return nil, err
	}
	defer service.stop()
	data, err := fetch(ctx, http.MethodPost, "http://"+service.addr+"/api/quote/submit", `{"sessionId":"bench","locale":"ro",
		"contact":{"firstName":"Ana","lastName":"Ionescu","email":"ana@example.com"},
		"selections":{"projectType":"web-app","features":["blog","payments"]},"estimate":{"min":9000,"max":14000,"currency":"EUR"}}`,
		"Content-Type: application/json")
	if err != nil {
		return nil, err
	}
	var answer struct{ PdfURL string }
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	document, err := fetch(ctx, http.MethodGet, "http://"+service.addr+answer.PdfURL, "")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "quote.pdf")
	if err := os.WriteFile(path, document, 0o600); err != nil {
		return nil, err
	}
	bare, err := startRole(ctx, "bare-file", true, pathVariable+"="+path)
	if err != nil {
		return nil, err
	}
	defer bare.stop()
	base, value, err := pair(ctx, o, bare, service, true, same(request(http.MethodGet, answer.PdfURL, "", "")))
	if err != nil {
		return nil, err
	}
	return compareRates("pdf-cached-vs-nethttp", "≥ 0.80", base, value), nil
}
