package edge

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/edge"
)

// getPath returns the path of a GET request for a document.
func getPath(document string) string { return "/graphql?" + url.Values{"query": {document}}.Encode() }

// edgeHeaders are the headers for shared caches.
var edgeHeaders = edge.Headers()

// shared returns the values of the headers for shared caches, or an empty string if there
// are none.
func shared(h http.Header) string {
	var values []string
	for _, name := range edgeHeaders {
		values = append(values, h.Values(name)...)
	}
	return strings.Join(values, "; ")
}

func TestSharedCaches(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CDN_MAX_AGE=45s")
	s.Query(`{ SiteSettings(id: "siteSettings") { contactEmail } }`, nil) // loads the content
	s.Query(`{ content(documentType: "heroSection", locale: es) { id } }`, nil)

	const maxAge = "; public, max-age=45"
	for document, want := range map[string]string{
		`{ SiteSettings(id: "siteSettings") { contactEmail } }`: "content:locale:en; content:locale:en" + maxAge,
		`{ a: content(documentType: "heroSection", locale: es) { id }
		   b: content(documentType: "heroSection") { id } }`: "content:locale:en,content:locale:es; " +
			"content:locale:en content:locale:es" + maxAge,
		`{ cacheStats { success } }`:                                           "",
		`{ SiteSettings(id: "siteSettings") { nothing } }`:                     "",
		`{ cacheStats { success } SiteSettings(id: "x") { contactEmail } }`:    "",
		`mutation { trackQuote(input: {sessionId: "a"}) { success } }`:         "",
		`{ __schema { queryType { name } } content(documentType: "x") { id } `: "",
	} {
		for range 2 { // executed, cached
			got := s.Do("GET", getPath(document), "")
			if shared(got.Header) != want {
				t.Errorf("%s: %q, want %q: %s", document, shared(got.Header), want, got.Body)
			}
			if want == "" {
				continue
			}
			if got.Header.Get("Cache-Control") != "public, max-age=0, must-revalidate" {
				t.Errorf("Cache-Control for browsers is %q", got.Header.Get("Cache-Control"))
			}
			same := s.Do("GET", getPath(document), "", "If-None-Match: "+got.Header.Get("ETag"))
			if same.Status != 304 || shared(same.Header) != want {
				t.Errorf("%s: 304 has %q", document, shared(same.Header))
			}
		}
		if got := s.Query(document, nil); shared(got.Header) != "" {
			t.Errorf("by POST: %v", got.Header)
		}
	}

	id := s.Submit("edge")
	for _, path := range []string{"/api/quote/pdf?id=" + id, "/api/cache/clear", "/api/openapi.json", "/", "/none"} {
		if got := s.Do("GET", path, ""); shared(got.Header) != "" {
			t.Errorf("%s: %v", path, got.Header)
		}
	}
}

// TestFallbackCopyIsNotForSharedCaches makes the CMS fail after an invalidation.
func TestFallbackCopyIsNotForSharedCaches(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	stubs.Publish("first title")
	r := apptest.Launch(t, t.TempDir(), stubs.Env("CDN_MAX_AGE=30s")...)
	r.Shows("first title")

	path := getPath(`{ content(documentType: "heroSection", locale: es) { fields } }`)
	if got := r.Do("GET", path, ""); shared(got.Header) == "" {
		t.Fatalf("a response with current content has the headers %v", got.Header)
	}

	stubs.FailCMS()
	r.InvalidateAll()
	for range 3 {
		got := r.Do("GET", path, "")
		if !got.Has("first title") || shared(got.Header) != "" {
			t.Errorf("the fallback copy: %s %v", got.Body, got.Header)
		}
	}
}

// TestResponsesAreCompressed requests each kind of large response with and without
// compression.
func TestResponsesAreCompressed(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	hero := getPath(`{ content(documentType: "heroSection") { fields } content2: content(documentType: "quoteOption") { fields } }`)
	s.Do("GET", hero, "") // loads the content
	page := string(s.Do("GET", "/calculator", "").Body)
	_, script, _ := strings.Cut(page, `<script type="module" src="`)
	script, _, _ = strings.Cut(script, `"`)

	manyErrors := `{"sessionId":"x","contact":{},"selections":{"features":["A","B","C","D","E","F","G","H","I","J"]}}`
	for name, c := range map[string]struct {
		method, path, body string
	}{
		"content":          {"GET", hero, ""},
		"problem document": {"POST", "/api/quote/submit", manyErrors},
		"page":             {"GET", "/", ""},
		"file of a page":   {"GET", script, ""},
	} {
		plain := s.Do(c.method, c.path, c.body, "Accept-Encoding: identity", "X-Request-Id: 8e03978e-40d5-43e8-bc93-6894a57f9324")
		got := s.Do(c.method, c.path, c.body, "Accept-Encoding: br, gzip;q=0.5", "X-Request-Id: 8e03978e-40d5-43e8-bc93-6894a57f9324")
		reader, err := gzip.NewReader(bytes.NewReader(got.Body))
		if err != nil {
			t.Fatalf("%s: %v: %v %s", name, err, got.Header, got.Body)
		}
		text, err := io.ReadAll(reader)
		if err != nil || len(text) != len(plain.Body) || got.Status != plain.Status ||
			got.Header.Get("Content-Encoding") != "gzip" || len(got.Body) >= len(plain.Body) ||
			!strings.Contains(strings.Join(got.Header.Values("Vary"), ", "), "Accept-Encoding") {
			t.Errorf("%s: %d of %d bytes, %v %v", name, len(text), len(plain.Body), err, got.Header)
		}

		// The tag is weak because both encodings share it.
		etag := plain.Header.Get("ETag")
		if got.Header.Get("ETag") != etag || etag != "" && !strings.HasPrefix(etag, `W/"`) {
			t.Errorf("%s: ETag %s, uncompressed %s", name, got.Header.Get("ETag"), etag)
		}
		if etag != "" && c.method == "GET" {
			same := s.Do("GET", c.path, "", "Accept-Encoding: gzip", "If-None-Match: "+etag)
			if same.Status != 304 || same.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s: If-None-Match with its own ETag: %d %v", name, same.Status, same.Header)
			}
		}
	}

	// The length of an authorized response must not reveal its content.
	for _, header := range []string{"Authorization: Bearer dev-admin-token", "Accept-Encoding: br, gzip;q=0.0"} {
		if got := s.Do("GET", hero, "", "Accept-Encoding: gzip", header); got.Header.Get("Content-Encoding") != "" {
			t.Errorf("with %s: %v", header, got.Header)
		}
	}
}
