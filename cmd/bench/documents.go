package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
)

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
